// The regular files under a folder, with what tells whether one changed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
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
  int64_t modified_ns = 0;
};

class FolderTable;
class HeadTable;

struct Listing {
  std::vector<ListedFile> files;      // in any order
  std::vector<std::string> warnings;  // what was skipped, and why
  // How much was looked at and what was not, where too much of the folder is not of a dump; empty:
  // all of it was.
  std::string left_out;
  // What opening a dump does not have to read again, where the caller knows it; and what it knows
  // in the end of the files that may be asked for again, if `wants_heads`.
  std::shared_ptr<const HeadTable> known_heads;
  std::shared_ptr<HeadTable> heads;
  bool wants_heads = false;
  std::vector<std::array<uint64_t, 2>> keys;  // of the model's files, in their order
};

// Lists sub-folders too, the nearest first, follows no links, enters no file system that the kernel
// makes up and opens no file. Of entries that are not called as those of a dump are, a fiftieth of
// the limit directory-entries is looked at (and no fewer than kMinOthers): what is left out is said
// where files of a dump were found, else it is an error. Errors: input for no such folder, a folder
// that is of no dump or more entries than the limit; environment for what the system refuses;
// kCancelled where it was stopped.
constexpr int64_t kMinOthers = 1000;
Result<Listing> ListFolder(const std::string& path, const Limits& limits,
                           const std::stop_token& stop = {});
// The same, where the entries of folders may be known: only changed folders are read, and every
// file is looked at. `next` is given what may be known next time; true in `read_any` says that it
// is more than `known` (or null).
Result<Listing> ListFolder(const std::string& path, const Limits& limits, const FolderTable* known,
                           FolderTable& next, bool& read_any);

}  // namespace hloscope::dump
