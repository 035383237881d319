# make_dev FOLDER [PTS]: a /dev on an empty folder, in a mount namespace, with the usual nodes and place for a /dev/log.
# Its terminals are its own, or those of another devpts. Everyone may open new ones, as on any machine. A link to
# pts/ptmx would depend on how that devpts was mounted (ptmxmode); the node finds the pts beside it, and does not.
make_dev() {
  local dev=$1 pts=${2:-} name
  mount -t tmpfs -o mode=0755 tmpfs "$dev"
  for name in null zero full random urandom tty; do
    touch "$dev/$name"
    mount --bind "/dev/$name" "$dev/$name"
  done
  mkdir "$dev/pts" "$dev/shm"
  if [[ -n $pts ]]; then
    mount --bind "$pts" "$dev/pts"
  else
    mount -t devpts -o newinstance,gid=5,mode=0620,ptmxmode=0666 devpts "$dev/pts"
  fi
  mount -t tmpfs -o mode=1777 tmpfs "$dev/shm"
  mknod -m 0666 "$dev/ptmx" c 5 2
  ln -s /proc/self/fd "$dev/fd"
  ln -s fd/0 "$dev/stdin"
  ln -s fd/1 "$dev/stdout"
  ln -s fd/2 "$dev/stderr"
}
