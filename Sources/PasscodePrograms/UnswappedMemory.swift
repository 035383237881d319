internal import CSystem
public import PasscodeSystem

// Memory for files that is never swapped out: a ramfs. A tmpfs is swapped out as any other memory; its `noswap` is newer than
// Linux 6.1. A ramfs knows owner and mode of its files, and no limit of their size: only root may write there.

/// Mounts an empty ramfs over a directory. The corresponding C function is `mount`.
public func mountUnswapped(_ path: [UInt8]) throws(Errno) {
  let terminated = withNUL(path)
  try retrying { unsafe cs_mount_ramfs(terminated) }
}

extension Descriptor {
  /// Whether what lies there is never swapped out. The corresponding C function is `fstatfs`.
  public var isNeverSwapped: Bool { cs_file_system(raw) == 0x8584_58f6 }

  /// Whether what is written over a file's content takes its place on the device: on ext2, ext3 and ext4. The
  /// corresponding C function is `fstatfs`.
  public var isOverwrittenInPlace: Bool { cs_file_system(raw) == 0xef53 }
}
