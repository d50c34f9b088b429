// Files that a command writes are none that it reads, nor one another.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hloscope::app {

struct FileToWrite {
  std::string_view option;  // that names it
  std::string path;         // empty: none is written
};

// The files of a command, by what they are and not by what they are called. Folders and standard
// output are none.
class WrittenFiles {
 public:
  explicit WrittenFiles(std::initializer_list<std::span<const std::string>> read);
  // Input error: it is a file that is read, or one that was added before.
  Status Add(const FileToWrite& file);

 private:
  std::set<std::string> read_;
  std::map<std::string, std::string> writers_;  // the option that names a file
};

// The first of `written` that may not be, as WrittenFiles::Add says.
Status CheckFilesToWrite(std::span<const FileToWrite> written,
                         std::initializer_list<std::span<const std::string>> read);

}  // namespace hloscope::app
