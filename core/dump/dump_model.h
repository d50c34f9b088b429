// DumpModel: a dump directory as one model that answers. Opening reads names and first bytes only;
// everything else is read when it is asked for, once, and kept. All functions are thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "core/base/memory_limit.h"
#include "core/base/result.h"
#include "core/dump/instruction_lookup.h"
#include "core/dump/listing/file_entry.h"
#include "core/dump/listing/head_table.h"
#include "core/dump/listing/stage_counts.h"
#include "core/dump/missing.h"
#include "core/dump/readers/buffers.h"
#include "core/dump/readers/kernels.h"
#include "core/dump/readers/thunks.h"
#include "core/dump/tensorflow/tensorflow_graph.h"
#include "core/hlo/module.h"

namespace hloscope::dump {

// One point of the pipeline at which the module was written.
struct StageEntry {
  std::string name;      // "before_optimizations", "0003.simplification.after_dce.before_cse", …
  std::string pipeline;  // "simplification"; empty for points outside the numbered passes
  std::string pass;      // "dce": the pass that just ran; empty likewise
  std::vector<int32_t> files;  // that hold the module at this stage, and others written with it
};

struct ModuleEntry {
  std::string name;
  int64_t id = -1;        // of the file names; -1: they have none
  int64_t end_id = -1;    // of the stages after optimization, where they have another
  ModuleOrigin origin;    // of a module that was found in a text
  std::string framework;  // "JAX", "TensorFlow", "PyTorch/XLA", "Reactant", "EXLA" or "unknown"
  std::string device;     // "cpu", "gpu", "tpu" or "unknown"
  std::string target;     // "sm_90a", "gfx942" or empty
  std::string folder;     // relative to the dump, empty for the dump itself
  std::string timestamp;  // of the file names, usually empty
  std::vector<StageEntry> stages;  // in order of compilation
  std::vector<int32_t> files;      // all of them
  // Where several compilations wrote under this id and name (see separate_runs.h): what is done
  // about it. Files of earlier ones are of no module; mixed are stages that nothing tells apart.
  std::string several_runs;
  std::vector<int32_t> earlier_files;
  bool is_mixed = false;
};

/// "module_0001.jit_f": its id and name, as in its files' names; the name alone where it has no id.
std::string TitleOf(const ModuleEntry& module);

class DumpModel {
 public:
  // The model of a directory, or of one file as a dump of one module with one stage. Errors: no
  // such path, not readable, more entries than the limit, stopped.
  static Result<std::shared_ptr<const DumpModel>> Open(const std::string& path,
                                                       const Limits& limits,
                                                       const OpenOptions& options = {});
  ~DumpModel();
  DumpModel(const DumpModel&) = delete;
  DumpModel& operator=(const DumpModel&) = delete;

  const std::string& path() const { return path_; }
  const Limits& limits() const { return limits_; }
  // By path; behind them modules in texts with others.
  std::span<const FileEntry> files() const { return files_; }
  std::span<const ModuleEntry> modules() const { return modules_; }  // by folder, time, id, name
  std::span<const MissingPiece> missing() const { return missing_; }
  std::span<const std::string> warnings() const { return warnings_; }  // of the index
  // How much of the folder was looked at, and that the rest was not; empty: all of it was.
  const std::string& left_out() const { return left_out_; }
  // What reading lost so far, beyond warnings(): files that could not be read or used.
  std::vector<std::string> LateWarnings() const;

  // The path of a file with the dump's in front.
  std::string FullPath(int32_t file) const;
  // The position of that stage of the module, -1 if there is none.
  int32_t FindStage(int32_t module, std::string_view name) const;
  // The last stage: what was compiled to code. -1 if the module has none.
  int32_t FinalStage(int32_t module) const;
  // The file of the stage that Module() reads first: the proto, else the text. -1 if none.
  int32_t ModuleFile(int32_t module, int32_t stage) const;
  // Instructions and fusions of the module in that file; null where they were not asked for on
  // opening, or where only Module() tells.
  const StageCounts* StageCountsOf(int32_t file) const;
  // The first file of the module with that role, and of that stage unless it is -1; -1 if none.
  int32_t FindFile(int32_t module, FileRole role, int32_t stage = -1) const;
  // The StableHLO, as text, that the module was made of; -1 if there is none.
  int32_t StableHloFile(int32_t module) const;

  // The module at a stage: from its proto; where that is broken from its text, with a late
  // warning. Errors: no such stage, no readable file; placed in the file.
  Result<std::shared_ptr<const hlo::Module>> Module(int32_t module, int32_t stage) const;
  // The same, read again. Not kept, so that many stages can be gone through.
  Result<std::shared_ptr<const hlo::Module>> ReadModule(int32_t module, int32_t stage) const;
  // Names, callers and order of the final stage.
  Result<std::shared_ptr<const InstructionLookup>> Lookup(int32_t module) const;
  Result<std::shared_ptr<const KernelTable>> Kernels(int32_t module) const;
  // Empty, with file -1, for modules without a thunk sequence (all of XLA:CPU).
  Result<std::shared_ptr<const ThunkSequence>> Thunks(int32_t module) const;
  // Empty, with source kNone, where no buffer assignment was dumped.
  Result<std::shared_ptr<const BufferTable>> Buffers(int32_t module) const;
  Result<std::shared_ptr<const TensorFlowGraph>> TensorFlow(int32_t file) const;
  Result<std::shared_ptr<const TensorFlowSummary>> TensorFlow() const;
  // The bytes, unpacked. Not kept.
  Result<FileView> OpenFile(int32_t file) const;
  // What read(bytes) makes of the file, within the limit file-memory.
  template <typename Read>
  auto ReadFile(int32_t file, Read read) const -> Result<decltype(read(std::string_view()))> {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileView view, OpenFile(file));
    using Made = decltype(read(view.bytes()));
    return WithinMemory(limits_, view.path(), [&]() -> Result<Made> { return read(view.bytes()); });
  }

 private:
  friend class DumpIndexer;
  struct Slots;
  DumpModel(std::string path, const Limits& limits);

  void AddParts(std::vector<TextEnd>& ends, std::vector<FileKey>* keys);
  void Warn(std::string text) const;
  Status CheckModule(int32_t module) const;
  Status CheckStage(int32_t module, int32_t stage) const;

  std::string path_;
  bool single_file_ = false;
  Limits limits_;
  std::vector<FileEntry> files_;
  std::vector<ModuleEntry> modules_;
  std::vector<MissingPiece> missing_;
  std::vector<std::string> warnings_;
  std::string left_out_;
  std::vector<std::optional<StageCounts>> counts_;  // by file, or empty
  std::unique_ptr<Slots> slots_;
};

}  // namespace hloscope::dump
