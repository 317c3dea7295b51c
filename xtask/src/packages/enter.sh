# In a mount and PID namespace of its own, which takes all that is left running with it when it ends:
#   enter.sh install FOLDER NAME COMMAND...   runs a command in the tree of a package, with the network
#   enter.sh boot FOLDER NAME                 boots the tree without a network; changes are thrown away
# FOLDER has `base`, and for a package trees/NAME, which is what its tree has in addition to the base, and runs/NAME, which
# is /packages inside. Where OARLOCK_STATS names a file of `oarlock run --stats`, the provider counts there.
set -eu
what=$1 folder=$2 name=$3
shift 3
mount --make-rprivate /
exec 2>&1
cd "$folder"
layer=$folder/trees/$name
mkdir -p "$layer/upper" "$layer/work" "archives/$name/partial" sources
mount --bind base base

case $what in
install)
    mount -t overlay -o "lowerdir=base,upperdir=$layer/upper,workdir=$layer/work" overlay base/tree
    cd base/tree
    mount --bind "$folder/runs/$name" packages
    mount --bind "$folder/sources" sources
    mount --bind "$folder/archives/$name" var/cache/apt/archives
    mount -t proc proc proc
    mount -t sysfs -o ro sysfs sys
    mount --rbind /dev dev
    cp /etc/resolv.conf etc/resolv.conf
    exec chroot . "$@"
    ;;
boot)
    scratch=$folder/scratch/$name
    rm -rf "$scratch"
    mkdir -p "$scratch/upper" "$scratch/work"
    mount -t overlay -o "lowerdir=$layer/upper:base,upperdir=$scratch/upper,workdir=$scratch/work" overlay base/tree
    cd base
    mount --bind "$folder/runs/$name" packages
    mount --bind "$folder/archives/$name" var/cache/apt/archives
    mount -t proc proc proc
    mount -t sysfs sysfs sys
    mount --rbind /sys/fs/cgroup sys/fs/cgroup
    mount --rbind /dev dev
    mount -t tmpfs tmpfs run
    mount -t tmpfs tmpfs tmp
    set -- --directory=/tree --bind=/packages --bind=/var/cache/apt/archives
    if [ -n "${OARLOCK_STATS-}" ]; then
        # Daemons of any user count, and in a sandbox that may write to /dev/shm alone.
        chmod 666 "$OARLOCK_STATS"
        touch run/usage
        mount --bind "$OARLOCK_STATS" run/usage
        set -- "$@" --bind=/run/usage:/dev/shm/oarlock-usage
    fi
    unset OPENSSL_CONF OARLOCK_STATS
    exec chroot . systemd-nspawn "$@" --boot --hostname=localhost --private-network --register=no --keep-unit \
        --link-journal=no --console=pipe
    ;;
esac
