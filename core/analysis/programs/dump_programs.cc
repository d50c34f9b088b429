// One job for each module: its first and its compiled stage, and the size of its buffers.
#include "core/analysis/programs/dump_programs.h"

#include <algorithm>

#include "core/analysis/programs/stage_texts.h"
#include "core/base/byte_archive.h"
#include "core/base/jobs.h"
#include "core/base/quick_hash.h"
#include "core/dump/load.h"

namespace hloscope::analysis {
namespace {

using dump::DumpModel;

StageProgram ReadStage(const DumpModel& model, int32_t module, int32_t stage,
                       ProgramReader& reader) {
  StageProgram out{
      .name = model.modules()[static_cast<size_t>(module)].stages[static_cast<size_t>(stage)].name,
      .phase = dump::StagePhase::kOther,
      .file = {},
      .program = {},
      .problem = {},
      .notes = {}};
  out.phase = dump::PhaseOf(out.name);
  const int32_t at = model.ModuleFile(module, stage);
  out.file = model.FullPath(at);
  const Result<FileView> file = model.OpenFile(at);
  Result<ReadProgram> program = file ? reader.Read(*file) : std::unexpected(file.error());
  if (program) {
    out.program = *program;
  } else {
    out.problem = program.error().ToString();
  }
  StageTexts texts = CompareStageTexts(model, module, stage, reader);
  out.notes = std::move(texts.notes);
  out.other_texts = texts.programs;
  return out;
}

// The StableHLO of a module that has no HLO, by its bytes.
std::optional<StageProgram> ReadStableHlo(const DumpModel& model, int32_t module) {
  const int32_t at = model.StableHloFile(module);
  if (at < 0 || !model.modules()[static_cast<size_t>(module)].stages.empty()) return std::nullopt;
  StageProgram out{.name = "stablehlo",
                   .phase = dump::StagePhase::kOther,
                   .file = model.FullPath(at),
                   .program = {},
                   .problem = {},
                   .notes = {}};
  if (const Result<FileView> file = model.OpenFile(at); file) {
    out.program.emplace().fingerprint.program = QuickHash(file->bytes(), 1);
  } else {
    out.problem = file.error().ToString();
  }
  return out;
}

}  // namespace

std::vector<int32_t> ComparedStages(const DumpModel& model, int32_t module) {
  const auto& stages = model.modules()[static_cast<size_t>(module)].stages;
  std::vector<int32_t> out;
  for (int32_t s = 0; s < std::ssize(stages) && out.empty(); ++s) {
    const bool is_input =
        dump::PhaseOf(stages[static_cast<size_t>(s)].name) == dump::StagePhase::kInput;
    if (is_input && model.ModuleFile(module, s) >= 0) out.push_back(s);
  }
  const int32_t last = model.FinalStage(module);
  const bool is_compiled = last >= 0 && dump::PhaseOf(stages[static_cast<size_t>(last)].name) ==
                                            dump::StagePhase::kFinal;
  if (last >= 0 && (is_compiled || out.empty())) out.push_back(last);
  return out;
}

namespace {

dump::FileKey KeyOf(const FileView& file) { return QuickHashes(file.bytes(), dump::FileKey{1, 2}); }

ReadProgram ProgramOf(const hlo::Module& module) {
  return {FingerprintProgram(module), static_cast<int64_t>(module.instructions().size())};
}

}  // namespace

void ProgramReader::Learn(const FileView& file, const hlo::Module& module) {
  const ReadProgram program = ProgramOf(module);
  const std::scoped_lock lock(mutex_);
  known_.emplace(KeyOf(file), program);
}

Result<ReadProgram> ProgramReader::Read(const FileView& file) {
  const dump::FileKey key = KeyOf(file);
  {
    const std::scoped_lock lock(mutex_);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::LoadedModule loaded, dump::LoadSoundModule(file, limits_));
  const ReadProgram program = ProgramOf(*loaded.module);
  const std::scoped_lock lock(mutex_);
  known_.emplace(key, program);
  return program;
}

Result<DumpPrograms> ReadPrograms(const DumpModel& model, ProgramReader& reader, int jobs,
                                  const std::stop_token& stop) {
  DumpPrograms out{.path = model.path(), .programs = {}};
  out.programs.resize(model.modules().size());
  const auto read = [&](int64_t k) {
    const auto module = static_cast<int32_t>(k);
    const dump::ModuleEntry& entry = model.modules()[static_cast<size_t>(k)];
    DumpProgram& program = out.programs[static_cast<size_t>(k)];
    program.name = entry.name;
    program.id = entry.id;
    program.folder = entry.folder;
    program.timestamp = entry.timestamp;
    program.several_runs = entry.several_runs;
    const auto buffers = model.Buffers(module);
    if (buffers && (*buffers)->source != dump::BufferSource::kNone)
      program.peak_bytes = (*buffers)->total_bytes;
    for (const int32_t stage : ComparedStages(model, module))
      program.stages.push_back(ReadStage(model, module, stage, reader));
    if (auto program_text = ReadStableHlo(model, module))
      program.stages.push_back(*std::move(program_text));
  };
  HLOSCOPE_TRY(ParallelFor(std::ssize(out.programs), jobs, read, stop));
  return out;
}

template <typename A>
void Archive(A& a, Archived<A, StageProgram>& stage) {
  a(stage.name, stage.phase, stage.file, stage.program, stage.problem, stage.notes,
    stage.other_texts);
}
template <typename A>
void Archive(A& a, Archived<A, DumpProgram>& program) {
  a(program.name, program.id, program.folder, program.timestamp, program.peak_bytes, program.stages,
    program.several_runs);
}
template <typename A>
void Archive(A& a, Archived<A, DumpPrograms>& programs) {
  a(programs.path, programs.programs);
}

std::string Pack(const DumpPrograms& programs) {
  ByteWriter writer;
  writer(programs);
  return std::move(writer).Take();
}

std::optional<DumpPrograms> UnpackPrograms(std::string_view bytes) {
  DumpPrograms out;
  ByteReader reader(std::as_bytes(std::span(bytes)));
  reader(out);
  return reader.ok() && reader.empty() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace hloscope::analysis
