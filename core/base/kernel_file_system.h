// File systems that the kernel makes up, whose files are no data that anyone has written.
#pragma once

#include <sys/statfs.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace hloscope {

// "proc", "sysfs", … of the kind that linux/magic.h numbers so; empty: another.
inline std::string_view KernelFileSystemName(const struct statfs& status) {
  constexpr std::pair<uint32_t, std::string_view> kKinds[] = {
      {0x00009fa0, "proc"},        {0x62656572, "sysfs"},      {0x00001cd1, "devpts"},
      {0x0027e0eb, "cgroup"},      {0x63677270, "cgroup2"},    {0x64626720, "debugfs"},
      {0x74726163, "tracefs"},     {0x73636673, "securityfs"}, {0x62656570, "configfs"},
      {0xcafe4a11, "bpf"},         {0x6165676c, "pstore"},     {0xde5e81e4, "efivarfs"},
      {0x42494e4d, "binfmt_misc"}, {0x6e736673, "nsfs"},       {0x65735543, "fusectl"},
      {0x19800202, "mqueue"},      {0xf97cff8c, "selinuxfs"},  {0x67596969, "rpc_pipefs"},
  };
  for (const auto& [magic, name] : kKinds) {
    if (magic == static_cast<uint32_t>(status.f_type)) return name;
  }
  return {};
}

// That of the file system which an open file, or a path, is on.
inline std::string_view KernelFileSystemOf(int fd) {
  struct statfs status{};
  return fstatfs(fd, &status) == 0 ? KernelFileSystemName(status) : std::string_view();
}
inline std::string_view KernelFileSystemAt(const std::string& path) {
  struct statfs status{};
  return statfs(path.c_str(), &status) == 0 ? KernelFileSystemName(status) : std::string_view();
}

}  // namespace hloscope
