"""Host artefacts of ordinary computers: what installers, users and administrators leave behind."""

from __future__ import annotations

import random

from tests.support import host_files

_RUN = r"Software\Microsoft\Windows\CurrentVersion\Run"
_MACHINE_RUN = r"Microsoft\Windows\CurrentVersion\Run"
_STARTED = (
    r'"C:\Users\mara\AppData\Local\Microsoft\OneDrive\OneDrive.exe" /background',
    r'"C:\Users\mara\AppData\Local\slack\slack.exe" --process-start-args --startup',
    r'"C:\Users\mara\AppData\Roaming\Zoom\bin\Zoom.exe" --autostart',
    r"%windir%\system32\SecurityHealthSystray.exe",
    r'"C:\Program Files\Adobe\Acrobat\AcroTray.exe"',
    r'"C:\Program Files (x86)\Steam\steam.exe" -silent',
    r"C:\Windows\System32\RtkAudUService64.exe -background",
    r'"C:\ProgramData\Vendor\Agent\agent.exe" /start',
    r"rundll32.exe C:\Windows\System32\spool\DRIVERS\x64\3\hpzstw.dll,Tray",
)
_COMMANDS = (
    "ls -la",
    "cd /srv/app",
    "git pull --rebase",
    "sudo systemctl restart nginx",
    "tail -n 100 /var/log/syslog",
    "vim README.md",
    "make test",
    "docker compose up -d",
    "rm -rf node_modules",
    "chmod +x deploy.sh",
    "ssh web-3",
    "scp a.tgz backup:/srv",
    "history | grep ssh",
    "curl -s https://api.example.org/health",
    "wget https://www.example.org/tool.tar.gz",
    "find . -name '*.pyc' -delete",
    "sudo apt-get upgrade",
    "crontab -l",
    "ps aux | grep python",
    "cat /etc/os-release",
    "sudo journalctl -u app -f",
    "kubectl get pods",
)
_JOBS = (
    "17 * * * * cd / && run-parts --report /etc/cron.hourly",
    "0 3 * * * /usr/bin/certbot renew -q",
    "*/10 * * * * /usr/lib/sysstat/sa1 1 1",
    "0 2 * * 0 /usr/local/bin/backup --full > /var/log/backup.log 2>&1",
    "30 4 * * * find /tmp -type f -atime +7 -delete",
    "*/5 * * * * curl -fsS https://hc.example.org/ping > /dev/null",
    "@reboot /usr/local/bin/start-app",
    "@daily /usr/sbin/logrotate /etc/logrotate.conf",
)
_SITES = (
    "https://www.example.org/",
    "https://mail.example.org/inbox",
    "https://intranet.example.org/wiki",
    "https://docs.example.com/a?b=c",
)


def hive(number: int) -> bytes:
    """A user's or a computer's autostarts."""
    chosen = random.Random(number).sample(_STARTED, 4)
    path = _RUN if number % 2 else _MACHINE_RUN
    values: dict[str, object] = {f"Program {at}": command for at, command in enumerate(chosen)}
    return host_files.hive(host_files.keys({path: ("2026-03-04 08:00:00", values)}), name="NTUSER.DAT")


def history(number: int) -> bytes:
    """A developer's commands, with times."""
    chosen = random.Random(number).sample(_COMMANDS, 12)
    return "".join(f"#{1_795_000_000 + at * 60}\n{command}\n" for at, command in enumerate(chosen)).encode()


def crontab(number: int) -> bytes:
    """An administrator's jobs."""
    return "".join(f"{job}\n" for job in random.Random(number).sample(_JOBS, 4)).encode()


def browser(number: int) -> bytes:
    """A morning of browsing with one document saved."""
    chosen = random.Random(number).choices(_SITES, k=6)
    visits = [(url, "A page", f"2026-11-20 09:{at:02}:00") for at, url in enumerate(chosen)]
    return host_files.chrome(
        visits, [(r"C:\Users\mara\Downloads\plan.pdf", "https://www.example.org/plan.pdf", "2026-11-20 09:30:00", 0)]
    )
