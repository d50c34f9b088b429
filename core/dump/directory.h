// A dump directory as modules with their stages in the order of compilation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/sniff.h"

namespace hloscope::dump {

struct DumpFile {
  std::string path;  // with the directory in front
  FileKind kind = FileKind::kUnknown;
  int64_t bytes = 0;
};

// One point of the pipeline at which the module was written; the same module in every file.
struct Stage {
  std::string name;  // "before_optimizations", "0003.simplification.after_dce.before_cse", …
  std::vector<DumpFile> files;
  // The file to read: the proto where there is one (it holds large constants), else the text.
  const DumpFile* Preferred() const;
};

struct DumpModule {
  int64_t id = -1;        // of the file name, -1 if the name has none
  std::string name;       // of the file name
  std::string timestamp;  // of the file name, usually empty
  std::vector<Stage> stages;
  std::vector<DumpFile> others;  // buffer assignments, LLVM IR, PTX, …
  const Stage* Find(std::string_view stage) const;
};

struct Dump {
  std::string path;
  std::vector<DumpModule> modules;    // by timestamp, id, name
  std::vector<DumpFile> loose;        // files of no module
  std::vector<std::string> warnings;  // what was skipped, and why
};

// What the name of a dump file says (XLA: service/dump.cc).
struct DumpFileName {
  std::string timestamp;
  int64_t id = -1;
  std::string module;
  std::string stage;  // empty if the file is not a module at a stage
  std::string rest;   // what follows the module name otherwise
};
// nullopt for names that do not begin with [timestamp.]module_<id>.
std::optional<DumpFileName> ParseDumpFileName(std::string_view file_name);

// Where a stage stands in the pipeline: input first, passes by number, final forms last.
int StageRank(std::string_view stage);

// Reads names and first bytes of every regular file under `path` (sub-folders too, links not
// followed). Errors: not a directory, not readable, more entries than the limit.
Result<Dump> ScanDump(const std::string& path, const Limits& limits);

}  // namespace hloscope::dump
