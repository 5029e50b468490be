# Boots systemd on a copy of the files of this machine, without a network. Runs as root in new namespaces.
# usage: boot.sh FOLDER CHECKOUT
set -e
folder=$1 checkout=$2
mount --make-rprivate /
mount -t tmpfs server "$folder"
cd "$folder"
mkdir root files work checkout checkout-work
mount -t overlay -o "lowerdir=/,upperdir=$folder/files,workdir=$folder/work" overlay root
# Before the checkout, which can be in it.
mount -t tmpfs tmp root/tmp
mkdir -p "root$checkout"
mount -t overlay -o "lowerdir=$checkout,upperdir=$folder/checkout,workdir=$folder/checkout-work" overlay "root$checkout"
cd root
mount -t proc proc proc
# The kernel's settings are those of the whole machine.
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 run run
mount -t tmpfs -o mode=755 dev dev
mkdir dev/pts dev/shm dev/mqueue
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
for device in null zero full random urandom tty; do
  touch "dev/$device"
  mount --bind "/dev/$device" "dev/$device"
done
ip link set lo up
: > etc/machine-id
mkdir run/outside
pivot_root . run/outside
umount --lazy /run/outside
exec env -i container=lxc /lib/systemd/systemd --unit=basic.target --log-target=console --show-status=false
