#!/bin/sh
# The first process of User Mode Linux: runs a command, whose words are the arguments, and ends the machine.
mount -t proc proc /proc
mount -t sysfs sysfs /sys
export PATH=/usr/sbin:/usr/bin:/sbin:/bin OARLOCK_TEST_CHILD=1

# Its modules lie where modprobe does not look; the kernel asks for those of algorithms by itself. /dev is the
# machine's own; the other folders are those of the host.
mkdir -p /dev/modules/lib
ln -s /usr/lib/uml/modules /dev/modules/lib/modules
printf '#!/bin/sh\nexec /usr/sbin/modprobe -d /dev/modules "$@"\n' >/dev/modules/modprobe
chmod +x /dev/modules/modprobe
echo /dev/modules/modprobe >/proc/sys/kernel/modprobe
for module in veth tun esp4 xfrm_user; do
    /dev/modules/modprobe $module
done

"$@" 2>&1
echo o >/proc/sysrq-trigger
# It ends the machine some time after.
sleep 60
