// Files that a command writes are none that it reads, nor one another.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hloscope::app {

struct FileToWrite {
  std::string_view option;  // that names it
  std::string path;         // empty: none is written
};

// Input error: one is a file that is read, whatever it is called there, or two are the same.
// Folders and standard output are none.
Status CheckFilesToWrite(std::span<const FileToWrite> written,
                         std::initializer_list<std::span<const std::string>> read);

}  // namespace hloscope::app
