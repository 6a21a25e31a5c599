"""Read the fields of a Windows event from its message, as the Event Viewer shows it."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_LINES = 500  # of one message; Windows' own have up to 100
_LINE = re.compile(r"^(\s*)([^\W\d_][^:\n\t]{1,80}?)\s?:\s*(.*)$")
_OWN_NAME = re.compile(r"[A-Z][A-Za-z0-9/()-]{1,60}")
_SIDES = {
    "subject": "Subject", "creator subject": "Subject", "target subject": "Target", "new logon": "Target",
    "account for which logon failed": "Target", "target account": "Target", "new account": "Target",
    "account whose credentials were used": "Target", "account information": "Target", "member": "Member",
    "group": "Target",
}  # fmt: skip
_SIDED = {"Account Name": "UserName", "Account Domain": "DomainName", "Security ID": "Sid", "Logon ID": "LogonId"}
_PLAIN = {
    "Logon Type": "LogonType", "Source Network Address": "IpAddress", "Client Address": "IpAddress",
    "Source Address": "IpAddress", "Source Port": "IpPort", "Workstation Name": "WorkstationName",
    "Logon Process": "LogonProcessName", "Authentication Package": "AuthenticationPackageName", "Status": "Status",
    "Sub Status": "SubStatus", "New Process Name": "NewProcessName", "New Process ID": "NewProcessId",
    "Creator Process Name": "ParentProcessName", "Creator Process ID": "ProcessId",
    "Process Command Line": "CommandLine", "Service Name": "ServiceName", "Service File Name": "ServiceFileName",
    "Service Type": "ServiceType", "Service Start Type": "StartType", "Service Account": "AccountName",
    "Task Name": "TaskName", "Task Content": "TaskContent", "Share Name": "ShareName",
    "Share Path": "ShareLocalPath", "Relative Target Name": "RelativeTargetName", "Object Name": "ObjectName",
    "Object Type": "ObjectType", "Ticket Encryption Type": "TicketEncryptionType",
    "Ticket Options": "TicketOptions", "Failure Code": "Status", "Result Code": "Status",
    "Pre-Authentication Type": "PreAuthType", "Error Code": "Status", "Privileges": "PrivilegeList",
    "Caller Process Name": "ProcessName", "Source Workstation": "Workstation", "Logon Account": "TargetUserName",
}  # fmt: skip


_LOCAL = {
    "Account Name": ("Kontoname", "Nom du compte", "Nom de compte", "Nombre de cuenta", "Nome account", "Nome da Conta",
                     "アカウント名"),
    "Account Domain": ("Kontodomäne", "Domaine du compte", "Dominio de cuenta", "Dominio account", "Domínio da Conta",
                       "アカウント ドメイン"),
    "Logon Type": ("Anmeldetyp", "Type d'ouverture de session", "Tipo de inicio de sesión", "Tipo di accesso",
                   "Tipo de Logon", "ログオン タイプ"),
    "Source Network Address": ("Quellnetzwerkadresse", "Adresse du réseau source", "Dirección de red de origen",
                               "Indirizzo di rete di origine", "Endereço de Rede de Origem",
                               "ソース ネットワーク アドレス"),
    "Workstation Name": ("Arbeitsstationsname", "Nom de la station de travail", "Nombre de estación de trabajo",
                         "ワークステーション名"),
    "New Process Name": ("Neuer Prozessname", "Nom du nouveau processus", "Nombre del nuevo proceso",
                         "新しいプロセス名"),
    "Process Command Line": ("Prozessbefehlszeile", "Ligne de commande du processus",
                             "Línea de comandos del proceso", "プロセスのコマンド ライン"),
    "Service Name": ("Dienstname", "Nom du service", "Nombre del servicio", "サービス名"),
    "Service File Name": ("Dienstdateiname", "Nom du fichier de service", "Nombre de archivo del servicio",
                          "サービス ファイル名"),
    "Subject": ("Antragsteller", "Sujet", "Objet", "Sujeto", "Firmante", "Soggetto", "サブジェクト"),
    "New Logon": ("Neue Anmeldung", "Nouvelle ouverture de session", "Nuevo inicio de sesión", "新しいログオン"),
    "New Account": ("Neues Konto", "Nouveau compte", "Nueva cuenta", "Cuenta nueva", "新しいアカウント"),
    "Target Account": ("Zielkonto", "Compte cible", "Cuenta de destino", "対象アカウント"),
    "Account For Which Logon Failed": (
        "Konto, für das die Anmeldung fehlgeschlagen ist", "Konto, für das das Anmelden fehlgeschlagen ist",
        "Compte pour lequel l'ouverture de session a échoué", "Cuenta con error de inicio de sesión",
        "ログオンを失敗したアカウント",
    ),
    "Member": ("Mitglied", "Membre", "Miembro", "メンバー"),
    "Group": ("Gruppe", "Groupe", "Grupo", "グループ"),
}  # fmt: skip
"""Names in messages in German, French, Spanish, Italian, Portuguese and Japanese, as Windows writes them."""
_ENGLISH = {name: english for english, names in _LOCAL.items() for name in names}
_VALUED = "|".join(re.escape(one) for one in sorted((*_ENGLISH, *_SIDED, *_PLAIN), key=len, reverse=True))
_IN_LINE = re.compile(rf"(?<![^\W_])({_VALUED})\s?:\s{{0,4}}([^\s:]{{1,200}})")
_SUBJECT_EVENTS = frozenset({"1102", "104"})


def line_fields(message: str, event_id: str) -> Iterator[tuple[str, str]]:
    """Yield the fields of a message in one line: without sections, an account is the event's target."""
    side = "Subject" if event_id in _SUBJECT_EVENTS else "Target"
    for written, value in _IN_LINE.findall(message):
        name = _ENGLISH.get(written, written)
        if name in _SIDED:
            yield f"{side}{_SIDED[name]}", value
        elif name in _PLAIN:
            yield _PLAIN[name], value


def message_fields(message: str) -> Iterator[tuple[str, str]]:
    """Yield the fields in a message's text: Security's by their section, Sysmon's by their own names."""
    side = ""
    for line in re.split(r"\r?\n", message)[:MAX_LINES]:
        found = _LINE.match(line.replace("\t", " "))
        if found is None:
            continue
        written, value = found[2].strip().replace("\u2019", "'"), found[3].strip()
        name = _ENGLISH.get(written, written)
        if not value:
            side = _SIDES.get(name.lower(), "")
        elif name in _PLAIN:
            yield _PLAIN[name], value
        elif name in _SIDED and side:
            yield f"{side}{_SIDED[name]}", value
        elif _OWN_NAME.fullmatch(name):
            yield name, value
