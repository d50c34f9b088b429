// The programs of a dump: what tells its modules apart, and a fingerprint of each.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/align/program_fingerprint.h"
#include "core/dump/dump_model.h"
#include "core/dump/listing/head_table.h"
#include "core/dump/stage_order.h"

namespace hloscope::analysis {

struct ReadProgram {
  ProgramFingerprint fingerprint;
  int64_t instructions = 0;  // of all computations
};

// Fingerprints of files. Files of equal bytes are read once. Thread-safe.
class ProgramReader {
 public:
  explicit ProgramReader(const Limits& limits) : limits_(limits) {}
  // Error: the file cannot be read, or holds no sound module.
  Result<ReadProgram> Read(const FileView& file);
  // The same of a file whose module is read already.
  void Learn(const FileView& file, const hlo::Module& module);

 private:
  Limits limits_;
  std::mutex mutex_;
  std::map<dump::FileKey, ReadProgram> known_;  // by the hash of the bytes
};

// The stages of a module that comparisons read: as given and as compiled, or else the last one.
std::vector<int32_t> ComparedStages(const dump::DumpModel& model, int32_t module);

struct StageProgram {
  std::string name;
  dump::StagePhase phase = dump::StagePhase::kOther;
  std::string file;  // that it was read from, with the dump's path
  std::optional<ReadProgram> program;
  std::string problem;             // why there is none
  std::vector<std::string> notes;  // as StageTexts
  uint64_t other_texts = 0;        // as StageTexts::programs
};

struct DumpProgram {
  std::string name;
  int64_t id = -1;  // as in dump::ModuleEntry
  std::string folder, timestamp;
  int64_t peak_bytes = -1;           // of all allocations; -1: no buffer assignment was dumped
  std::vector<StageProgram> stages;  // as ComparedStages
  std::string several_runs;          // as in dump::ModuleEntry
};

struct DumpPrograms {
  std::string path;
  std::vector<DumpProgram> programs;  // as DumpModel::modules()
};

// Reads them on `jobs` threads. Error: stopped.
Result<DumpPrograms> ReadPrograms(const dump::DumpModel& model, ProgramReader& reader, int jobs,
                                  const std::stop_token& stop = {});

// For a cache of this machine and build; nullopt where `bytes` hold none.
std::string Pack(const DumpPrograms& programs);
std::optional<DumpPrograms> UnpackPrograms(std::string_view bytes);

}  // namespace hloscope::analysis
