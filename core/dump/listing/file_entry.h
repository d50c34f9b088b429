// A file of a dump, and how a dump is opened.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>

#include "core/dump/listing/file_role.h"
#include "core/dump/listing/sniff.h"

namespace hloscope {
class FileView;
}

namespace hloscope::dump {

// Of a module in a text with others: its name, and what the text says of it.
struct ModuleOrigin {
  std::string name;
  std::string hash, place;  // of PyTorch/XLA: of the graph, and the user's line
};

struct FileEntry {
  std::string path;  // relative to the dump
  FileRole role = FileRole::kUnknown;
  FileKind kind = FileKind::kUnknown;  // by content
  int64_t bytes = 0;
  int32_t module = -1, stage = -1;  // -1: of none
  int64_t modified_ns = 0;          // 0: not known
  ModuleOrigin part;                // of a module in a text with others
};

struct Listing;

struct OpenOptions {
  int jobs = 0;                                               // threads; 0: one for each CPU
  std::function<void(int64_t done, int64_t total)> progress;  // called from any thread
  std::stop_token stop;
  Listing* listing = nullptr;  // of the folder, where the caller has it already; it is moved from
  const FileView* file = nullptr;  // the dump, where that is one file that the caller has open
  bool count_stages = false;       // reads the modules of all stages as far as StageCountsOf needs
};

}  // namespace hloscope::dump
