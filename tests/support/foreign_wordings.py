"""Questions in German, French, Spanish and Japanese, as people word them. The held half was written before the fix.

Each is asked in a session whose language is the default (English), and has the evidence that it is asked about and a
pattern that the opening of its answer must contain.
"""

# ruff: noqa: RUF001 - Japanese questions end with a full-width question mark

from __future__ import annotations

_WHO, _FROM, _LSASS = "mara", r"203\S+113\S+77", r"lsass|credential|T1003"
_WEB = r"203\S+113\S+50|inject|travers|shell"
TOPICS: tuple[tuple[str, str], ...] = (
    ("auth", _WHO),  # 1. who got in
    ("auth", _WHO),  # 2. did anyone get in
    ("auth", _FROM),  # 3. brute force
    ("auth", "mara|root|backup"),  # 4. attacked accounts
    ("auth", _FROM),  # 5. where from
    ("auth", _WHO),  # 6. what happened
    ("syslog", _WHO),  # 7. compromised
    ("windows", _LSASS),  # 8. anything suspicious
    ("windows", _LSASS),  # 9. summary for a manager
    ("UFW log", "scan"),  # 10. port scan
    ("web", _WEB),  # 11. attack on the web server
    ("auth", r"\b52\b|900|fail"),  # 12. number of failures
    ("auth", "03:12|03:10|mara"),  # 13. start
    ("windows", "clear|1102"),  # 14. log cleared
    ("capture", "beacon"),  # 15. beaconing
    ("windows", "rule|LSASS"),  # 16. rules that matched
    ("windows", _LSASS),  # 17. credential dump
    ("auth", _WHO),  # 18. what to do
    ("auth", _WHO),  # 19. accepted logins
    ("web", _WEB),  # 20. danger
)
"""Evidence and pattern by the number of the question."""

OPEN: dict[str, tuple[str, ...]] = {
    "de": (
        "Wer ist eingedrungen?",
        "Hat es jemand ins System geschafft?",
        "Gab es einen Brute-Force-Angriff?",
        "Welche Konten wurden angegriffen?",
        "Von welcher IP-Adresse kam der Angriff?",
        "Was ist hier los?",
        "Sind wir gehackt worden?",
        "Fällt dir etwas Ungewöhnliches auf?",
        "Fasse das für meinen Chef in zwei Sätzen zusammen",
        "Wurden unsere Ports gescannt?",
        "Wurde der Webserver angegriffen?",
        "Wie viele fehlgeschlagene Anmeldungen gab es?",
        "Wann hat der Angriff begonnen?",
        "Wurde das Ereignisprotokoll gelöscht?",
        "Gibt es Beaconing in diesem Mitschnitt?",
        "Welche Regeln haben angeschlagen?",
        "Wurden Zugangsdaten gestohlen?",
        "Was soll ich jetzt tun?",
        "Liste alle erfolgreichen Anmeldungen auf",
        "Ist das gefährlich?",
    ),
    "fr": (
        "Qui s'est introduit dans le système ?",
        "Est-ce que quelqu'un a réussi à entrer ?",
        "Y a-t-il eu une attaque par force brute ?",
        "Quels comptes ont été attaqués ?",
        "De quelle adresse IP vient l'attaque ?",
        "Que s'est-il passé ici ?",
        "Avons-nous été piratés ?",
        "Vois-tu quelque chose d'inhabituel ?",
        "Résume cela en deux phrases pour mon chef",
        "Nos ports ont-ils été scannés ?",
        "Le serveur web a-t-il été attaqué ?",
        "Combien y a-t-il d'échecs de connexion ?",
        "Quand l'attaque a-t-elle commencé ?",
        "Le journal d'événements a-t-il été effacé ?",
        "Y a-t-il du beaconing dans cette capture ?",
        "Quelles règles se sont déclenchées ?",
        "Des identifiants ont-ils été volés ?",
        "Que dois-je faire maintenant ?",
        "Liste toutes les connexions réussies",
        "Est-ce dangereux ?",
    ),
    "es": (
        "¿Quién ha entrado en el sistema?",
        "¿Ha conseguido entrar alguien?",
        "¿Hubo un ataque de fuerza bruta?",
        "¿Qué cuentas fueron atacadas?",
        "¿Desde qué dirección IP vino el ataque?",
        "¿Qué ha pasado aquí?",
        "¿Nos han hackeado?",
        "¿Ves algo fuera de lo normal?",
        "Resúmelo en dos frases para mi jefe",
        "¿Escanearon nuestros puertos?",
        "¿Atacaron el servidor web?",
        "¿Cuántos inicios de sesión fallidos hubo?",
        "¿Cuándo empezó el ataque?",
        "¿Se borró el registro de eventos?",
        "¿Hay beaconing en esta captura?",
        "¿Qué reglas saltaron?",
        "¿Robaron credenciales?",
        "¿Qué hago ahora?",
        "Lista todos los inicios de sesión correctos",
        "¿Es peligroso?",
    ),
    "ja": (
        "誰が侵入しましたか？",
        "誰かが中に入れましたか？",
        "ブルートフォース攻撃はありましたか？",
        "どのアカウントが攻撃されましたか？",
        "攻撃はどのIPアドレスから来ましたか？",
        "ここで何がありましたか？",
        "ハッキングされましたか？",
        "何か異常はありますか？",
        "上司向けに二文で要約してください",
        "ポートがスキャンされましたか？",
        "ウェブサーバーは攻撃されましたか？",
        "ログイン失敗は何回ありましたか？",
        "攻撃はいつ始まりましたか？",
        "イベントログは消去されましたか？",
        "このキャプチャにビーコン通信はありますか？",
        "どのルールが一致しましたか？",
        "認証情報は盗まれましたか？",
        "今何をすべきですか？",
        "成功したログインをすべて一覧にしてください",
        "これは危険ですか？",
    ),
}

HELD: dict[str, tuple[str, ...]] = {
    "de": (
        "Wer konnte sich Zutritt verschaffen?",
        "Kam der Angreifer durch?",
        "Hat da jemand Passwörter durchprobiert?",
        "Auf welche Benutzer hatte man es abgesehen?",
        "Woher kamen die Angreifer?",
        "Kannst du mir sagen, was auf der Kiste vorgefallen ist?",
        "Ist der Server noch vertrauenswürdig?",
        "Muss ich mir Sorgen machen?",
        "Bitte eine kurze Zusammenfassung für die Geschäftsleitung",
        "Hat uns jemand abgescannt?",
        "Gab es SQL-Injection-Versuche?",
        "Anzahl der gescheiterten Logins?",
        "Seit wann läuft das?",
        "Hat jemand die Logs geleert?",
        "Meldet sich ein Rechner regelmäßig bei einem C2-Server?",
        "Welche Erkennungen gibt es?",
        "Wurde LSASS ausgelesen?",
        "Wie gehe ich weiter vor?",
        "Wer hat sich erfolgreich eingeloggt?",
        "Wie schlimm ist es?",
    ),
    "fr": (
        "Qui a pu accéder à la machine ?",
        "L'attaquant est-il passé ?",
        "Quelqu'un a-t-il essayé de deviner des mots de passe ?",
        "Quels utilisateurs étaient visés ?",
        "D'où venaient les attaquants ?",
        "Peux-tu me dire ce qui s'est produit sur ce serveur ?",
        "Peut-on encore faire confiance à ce serveur ?",
        "Dois-je m'inquiéter ?",
        "Une brève synthèse pour la direction, s'il te plaît",
        "Quelqu'un nous a-t-il balayés ?",
        "Y a-t-il eu des injections SQL ?",
        "Nombre de tentatives de connexion ratées ?",
        "Depuis quand cela dure-t-il ?",
        "Est-ce que quelqu'un a vidé les journaux ?",
        "Une machine contacte-t-elle régulièrement un serveur C2 ?",
        "Quelles détections y a-t-il ?",
        "La mémoire de LSASS a-t-elle été extraite ?",
        "Quelles sont les prochaines étapes ?",
        "Qui s'est connecté avec succès ?",
        "C'est grave ?",
    ),
    "es": (
        "¿Quién logró acceder a la máquina?",
        "¿El atacante consiguió su objetivo?",
        "¿Alguien intentó adivinar contraseñas?",
        "¿Qué usuarios eran el objetivo?",
        "¿De dónde venían los atacantes?",
        "¿Puedes decirme qué sucedió en este servidor?",
        "¿Todavía se puede confiar en este servidor?",
        "¿Debo preocuparme?",
        "Un breve resumen para la dirección, por favor",
        "¿Alguien nos ha hecho un barrido de puertos?",
        "¿Hubo intentos de inyección SQL?",
        "¿Número de accesos fallidos?",
        "¿Desde cuándo ocurre esto?",
        "¿Alguien vació los registros?",
        "¿Algún equipo contacta con regularidad con un servidor C2?",
        "¿Qué detecciones hay?",
        "¿Volcaron la memoria de LSASS?",
        "¿Cuáles son los siguientes pasos?",
        "¿Quién inició sesión con éxito?",
        "¿Es grave?",
    ),
    "ja": (
        "マシンにアクセスできたのは誰ですか？",
        "攻撃者は成功しましたか？",
        "パスワードを推測しようとした形跡はありますか？",
        "狙われたユーザーは？",
        "攻撃者はどこから来ましたか？",
        "このサーバーで起きたことを教えてください",
        "このサーバーはまだ信頼できますか？",
        "心配すべきでしょうか？",
        "経営陣向けの短いまとめをお願いします",
        "誰かにポートを調べられましたか？",
        "SQLインジェクションの試みはありましたか？",
        "失敗したログインの件数は？",
        "いつから続いていますか？",
        "誰かがログを消しましたか？",
        "定期的にC2サーバーと通信している端末はありますか？",
        "どんな検知がありますか？",
        "LSASSのメモリはダンプされましたか？",
        "次の手順は何ですか？",
        "正常にログインできたのは誰ですか？",
        "どのくらい深刻ですか？",
    ),
}
