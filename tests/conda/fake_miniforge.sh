#!/bin/bash
# Stands in for Miniforge's installer, which no test can download: takes the same options, and brings a `conda` that unpacks
# the packages of an explicit list. Refuses what the real one is not known to take.
set -eu
[ "$1" = -b ] && [ "$2" = -p ] && [ "$#" = 3 ] || { echo "installer: unexpected options $*" >&2; exit 2; }
[ ! -e "$3" ] || { echo "installer: $3 exists" >&2; exit 1; }
mkdir -p "$3/bin"
cat > "$3/bin/conda" <<'CONDA'
#!/bin/bash
set -eu
[ "$1" != --version ] || { echo "conda 25.3.1"; exit 0; }
[ "$1 $2 $3 $4 $6" = "create --yes --offline --prefix --file" ] || { echo "conda: unexpected options $*" >&2; exit 2; }
[ "$(head -n 1 "$7")" = @EXPLICIT ] || { echo "conda: no explicit list" >&2; exit 2; }
mkdir -p "$5/conda-meta" "$CONDA_PKGS_DIRS"
echo "$HOME" > "$5/conda-meta/home"
tail -n +2 "$7" | while read -r address; do
    python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "${address#file://}" "$5"
done
CONDA
chmod 755 "$3/bin/conda"
