// The entries of folders as they were: a folder that has not changed since is not read again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::dump {

class FolderTable {
 public:
  struct Folder {
    std::string_view path;  // relative to the dump
    uint64_t inode = 0;
    int64_t changed_ns = 0;
    std::string_view entries;  // a type of dirent.h, a name and a zero byte, for each
  };

  // Appends a folder.
  void Add(const Folder& folder);
  const std::string& bytes() const { return bytes_; }

  // A table that is only looked at, out of the bytes of another; nullopt where they hold none.
  static std::optional<FolderTable> Read(std::string bytes);
  const Folder* Find(std::string_view path) const;  // null: not known

 private:
  std::string bytes_;
  std::shared_ptr<const std::string> read_;  // what `folders_` look at
  std::vector<Folder> folders_;              // by path
};

}  // namespace hloscope::dump
