set -eu
# A base image of the user's own may lack what Ansible and ssh need; the built one has it.
if ! [ -x /usr/sbin/sshd ] || ! command -v python3 >/dev/null; then
    if command -v apt-get >/dev/null; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openssh-server python3 python3-apt sudo
    elif command -v dnf >/dev/null; then
        dnf install -y -q openssh-server python3 sudo
    else
        echo "local_base_image: it has no sshd or no python3, and neither apt-get nor dnf to install them" >&2
        exit 1
    fi
fi
mkdir -p /run/sshd
mkdir -p -m 0700 /root/.ssh
printf '%s\n' "$ICEFIELD_AUTHORIZED_KEY" > /root/.ssh/authorized_keys
[ -f /etc/ssh/ssh_host_ed25519_key ] || ssh-keygen -q -t ed25519 -N '' -C '' -f /etc/ssh/ssh_host_ed25519_key
# MaxStartups: an mpirun on many nodes opens more sessions at once than the default lets in.
exec /usr/sbin/sshd -D -e -o PasswordAuthentication=no -o PermitRootLogin=prohibit-password -o MaxStartups=100 \
    -o HostKey=/etc/ssh/ssh_host_ed25519_key
