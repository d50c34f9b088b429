// The regular files under a folder, with what tells whether one changed.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope::dump {

struct ListedFile {
  std::string path;  // relative to the folder
  int64_t bytes = 0;
  int64_t changed_ns = 0;  // the later of modification and change of status
  uint64_t inode = 0;
};

struct Listing {
  std::vector<ListedFile> files;      // in any order
  std::vector<std::string> warnings;  // what was skipped, and why
};

// Lists sub-folders too, follows no links and opens no file. Errors: input for no such folder or
// more entries than the limit directory-entries; environment for what the system refuses; kDied
// where it was stopped.
Result<Listing> ListFolder(const std::string& path, const Limits& limits,
                           const std::stop_token& stop = {});

}  // namespace hloscope::dump
