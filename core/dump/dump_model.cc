// Opening a dump, and reading what was asked for once.
#include "core/dump/dump_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "core/base/counted.h"
#include "core/base/jobs.h"
#include "core/base/quick_hash.h"
#include "core/dump/buffer_table.h"
#include "core/dump/container.h"
#include "core/dump/dump_indexer.h"
#include "core/dump/kernel_table.h"
#include "core/dump/lazy.h"
#include "core/dump/listing/file_head.h"
#include "core/dump/listing/listing.h"
#include "core/dump/load.h"
#include "core/dump/not_a_module.h"
#include "core/dump/stage_files.h"
#include "core/dump/stage_order.h"
#include "core/dump/tensorflow_table.h"
#include "core/dump/thunk_table.h"

namespace hloscope::dump {
namespace {

// Not those that XLA dumped, which hold what their name says.
bool MayHoldParts(const FileEntry& file, bool is_alone) {
  const std::string_view name = BareFileName(file.path);
  if (!is_alone && ParseDumpFileName(name)) return false;
  return file.kind == FileKind::kHloText || file.kind == FileKind::kTorchTensors ||
         file.kind == FileKind::kLog || file.kind == FileKind::kStableHloText ||
         (file.kind == FileKind::kText && (is_alone || IsLogName(name))) ||
         (file.kind == FileKind::kUnknown && is_alone);  // a trace may carry modules
}

Error NoSuch(std::string message, const std::string& path) {
  return {ErrorClass::kInput, std::move(message), {path, 0, 0}, {}};
}

// Of a module without a stage to read: what there is of it instead, and what makes HLO of it.
Error NoHloOf(const DumpModel& model, int32_t module, bool single_file) {
  const ModuleEntry& entry = model.modules()[static_cast<size_t>(module)];
  int32_t instead = model.StableHloFile(module);
  for (const int32_t file : entry.files) {
    const FileEntry& one = model.files()[static_cast<size_t>(file)];
    const bool is_called_module = single_file || RowOf(one.role).reader == "Module";
    if (instead < 0 && (IsProgramKind(one.kind) || is_called_module)) instead = file;
  }
  if (instead >= 0) {
    const auto file = model.OpenFile(instead);
    if (!file) return file.error();
    return NotAModule(model.FullPath(instead), file->bytes(),
                      model.files()[static_cast<size_t>(instead)].kind);
  }
  return {ErrorClass::kInput,
          fmt::format("no HLO of module {} is in this dump", TitleOf(entry)),
          {model.path(), 0, 0},
          "--xla_dump_to=DIR --xla_dump_hlo_as_proto writes it"};
}

}  // namespace

struct DumpModel::Slots {
  struct OfModule {
    std::deque<Lazy<hlo::Module>> stages;
    Lazy<InstructionLookup> lookup;
    Lazy<KernelTable> kernels;
    Lazy<ThunkSequence> thunks;
    Lazy<BufferTable> buffers;
  };
  std::deque<OfModule> modules;
  std::deque<Lazy<TensorFlowGraph>> graphs;  // by file
  Lazy<TensorFlowSummary> tensorflow;
  std::mutex opened_mutex;
  std::optional<FileView> opened;  // the only file, until what is in it is read
  std::mutex warnings_mutex;
  std::vector<std::string> late_warnings;

  // A file that is the whole dump was read when it was opened; nullopt: it was taken before.
  std::optional<FileView> TakeOpened() {
    const std::scoped_lock lock(opened_mutex);
    return std::exchange(opened, std::nullopt);
  }
  Result<LoadedModule> Load(const std::string& path, const Limits& limits) {
    const std::optional<FileView> whole = TakeOpened();
    return whole ? LoadSoundModule(*whole, limits) : LoadSoundModule(path, limits);
  }
};

DumpModel::DumpModel(std::string path, const Limits& limits)
    : path_(std::move(path)), limits_(limits), slots_(std::make_unique<Slots>()) {}
DumpModel::~DumpModel() = default;

Result<std::shared_ptr<const DumpModel>> DumpModel::Open(const std::string& path,
                                                         const Limits& limits,
                                                         const OpenOptions& options) {
  std::shared_ptr<DumpModel> model(new DumpModel(path, limits));
  Listing own;
  FileHeads heads;
  model->single_file_ = options.file != nullptr || !IsFolder(path);
  if (model->single_file_) {
    HLOSCOPE_ASSIGN_OR_RETURN(FileView file, options.file != nullptr
                                                 ? Result<FileView>(*options.file)
                                                 : OpenInput(path, limits));
    FileEntry& entry = model->files_.emplace_back();
    entry.path = path;
    entry.kind = Sniff(file.bytes());
    entry.bytes = static_cast<int64_t>(file.bytes().size());
    heads.ends.push_back(TextEnd::kBrace);
    const FileKind kind = model->files_.back().kind;
    if (IsTensorFlowKind(kind) || IsModuleKind(kind)) model->slots_->opened = std::move(file);
  } else if (IsArchive(path)) {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto archive, OpenArchive(path, limits));
    model->warnings_.assign(archive->warnings().begin(), archive->warnings().end());
    HLOSCOPE_ASSIGN_OR_RETURN(heads,
                              ReadHeads(*archive, path, options, model->files_, model->warnings_));
    model->counts_ = std::move(heads.counts);
  } else {
    if (options.listing == nullptr) {
      HLOSCOPE_ASSIGN_OR_RETURN(own, ListFolder(path, limits, options.stop));
    }
    Listing& listing = options.listing == nullptr ? own : *options.listing;
    std::ranges::sort(listing.files, {}, &ListedFile::path);
    model->warnings_ = std::move(listing.warnings);
    model->left_out_ = std::move(listing.left_out);
    if (!model->left_out_.empty()) {
      model->warnings_.insert(model->warnings_.begin(), model->left_out_);
    }
    HLOSCOPE_ASSIGN_OR_RETURN(
        heads, ReadHeads(path, listing, limits, options, model->files_, model->warnings_));
    model->counts_ = std::move(heads.counts);
  }
  model->AddParts(heads.ends, options.listing == nullptr ? nullptr : &options.listing->keys);
  DumpIndexer(*model, heads.ends).Run();
  model->missing_ = FindMissing(*model);
  for (const ModuleEntry& module : model->modules_)
    model->slots_->modules.emplace_back().stages.resize(module.stages.size());
  model->slots_->graphs.resize(model->files_.size());
  return model;
}

// The modules in texts that hold several, or something else as well, become files of their own,
// `log.txt:jit_f`.
void DumpModel::AddParts(std::vector<TextEnd>& ends, std::vector<FileKey>* keys) {
  const size_t count = files_.size();
  for (size_t k = 0; k < count; ++k) {
    if (!MayHoldParts(files_[k], single_file_)) continue;
    const auto file = OpenFile(static_cast<int32_t>(k));
    if (!file) continue;  // who reads it says so
    const ModuleParts found = FindModulesIn(file->bytes(), files_[k].kind, limits_);
    if (found.parts.empty()) continue;
    if (files_[k].kind == FileKind::kHloText) {
      files_[k].kind = FileKind::kHloTexts;
      slots_->opened.reset();
    }
    for (const ModulePart& part : found.parts) {
      FileEntry entry;
      entry.path = fmt::format("{}:{}", files_[k].path, part.selector);
      entry.kind = part.kind;
      entry.bytes = static_cast<int64_t>(part.end - part.begin);
      entry.modified_ns = files_[k].modified_ns;
      entry.part = {part.name.empty() ? part.selector : part.name, part.hash, part.place};
      files_.push_back(std::move(entry));
      ends.push_back(TextEnd::kBrace);
      if (keys != nullptr) {
        const FileKey whole = (*keys)[k];
        keys->push_back({QuickMix(whole[0], part.begin), QuickMix(whole[1], part.end)});
      }
      if (!counts_.empty()) {
        counts_.push_back(
            part.kind == FileKind::kHloText
                ? CountInText(part.line_prefix.empty()
                                  ? file->bytes().substr(part.begin, part.end - part.begin)
                                  : PartView(*file, part).bytes())
                : std::nullopt);
      }
    }
    if (found.left_out > 0) {
      warnings_.push_back(
          fmt::format("{}: {} left out (raise the limit with --limit "
                      "archive-members=N)",
                      files_[k].path, Counted(found.left_out, "more module")));
    }
  }
}

std::vector<std::string> DumpModel::LateWarnings() const {
  std::scoped_lock lock(slots_->warnings_mutex);
  std::vector<std::string> sorted = slots_->late_warnings;
  std::ranges::sort(sorted);
  return sorted;
}

void DumpModel::Warn(std::string text) const {
  std::scoped_lock lock(slots_->warnings_mutex);
  slots_->late_warnings.push_back(std::move(text));
}

std::string TitleOf(const ModuleEntry& module) {
  return module.id < 0 ? module.name : fmt::format("module_{:04}.{}", module.id, module.name);
}

std::string DumpModel::FullPath(int32_t file) const {
  const std::string& path = files_[static_cast<size_t>(file)].path;
  return single_file_ ? path : path_ + (path_.ends_with('/') ? "" : "/") + path;
}

int32_t DumpModel::FindStage(int32_t module, std::string_view name) const {
  const auto& stages = modules_[static_cast<size_t>(module)].stages;
  auto at = std::ranges::find(stages, name, &StageEntry::name);
  return at == stages.end() ? -1 : static_cast<int32_t>(at - stages.begin());
}

int32_t DumpModel::FinalStage(int32_t module) const {
  const auto& stages = modules_[static_cast<size_t>(module)].stages;
  int32_t last = -1;
  bool is_final = false;
  for (size_t s = 0; s < stages.size(); ++s) {
    auto stage = static_cast<int32_t>(s);
    if (ModuleFile(module, stage) < 0) continue;
    // XLA:TPU writes texts around buffer assignment as well.
    if (stages[s].name.ends_with("after_optimizations")) return stage;
    if (!is_final) last = stage;
    is_final |= PhaseOf(stages[s].name) == StagePhase::kFinal;
  }
  return last;
}

int32_t DumpModel::ModuleFile(int32_t module, int32_t stage) const {
  return FirstModuleFile(*this, module, stage);
}

const StageCounts* DumpModel::StageCountsOf(int32_t file) const {
  auto at = static_cast<size_t>(file);
  return at < counts_.size() && counts_[at] ? &*counts_[at] : nullptr;
}

int32_t DumpModel::FindFile(int32_t module, FileRole role, int32_t stage) const {
  for (int32_t k : modules_[static_cast<size_t>(module)].files) {
    const FileEntry& file = files_[static_cast<size_t>(k)];
    if (file.role == role && (stage < 0 || file.stage == stage)) return k;
  }
  return -1;
}

int32_t DumpModel::StableHloFile(int32_t module) const {
  for (const FileRole role : {FileRole::kPjrtModule, FileRole::kJaxIr, FileRole::kStableHlo}) {
    const int32_t file = FindFile(module, role);
    if (file >= 0 && files_[static_cast<size_t>(file)].kind == FileKind::kStableHloText)
      return file;
  }
  return -1;
}

Status DumpModel::CheckModule(int32_t module) const {
  if (module < 0 || static_cast<size_t>(module) >= modules_.size())
    return std::unexpected(NoSuch(fmt::format("no module {} in this dump", module), path_));
  return {};
}

Result<FileView> DumpModel::OpenFile(int32_t file) const {
  if (file < 0 || static_cast<size_t>(file) >= files_.size())
    return std::unexpected(NoSuch(fmt::format("no file {} in this dump", file), path_));
  if (single_file_ && IsTensorFlowKind(files_[static_cast<size_t>(file)].kind)) {
    if (auto whole = slots_->TakeOpened()) return *std::move(whole);
  }
  return OpenInput(FullPath(file), limits_);
}

Status DumpModel::CheckStage(int32_t module, int32_t stage) const {
  HLOSCOPE_TRY(CheckModule(module));
  const ModuleEntry& entry = modules_[static_cast<size_t>(module)];
  if (stage >= 0 && static_cast<size_t>(stage) < entry.stages.size()) return {};
  if (stage < 0 || entry.stages.empty())
    return std::unexpected(NoHloOf(*this, module, single_file_));
  return std::unexpected(
      NoSuch(fmt::format("module {} has no stage {}", entry.name, stage), path_));
}

Result<std::shared_ptr<const hlo::Module>> DumpModel::Module(int32_t module, int32_t stage) const {
  HLOSCOPE_TRY(CheckStage(module, stage));
  auto& slot = slots_->modules[static_cast<size_t>(module)].stages[static_cast<size_t>(stage)];
  return slot.Get([&] { return ReadModule(module, stage); });
}

Result<std::shared_ptr<const hlo::Module>> DumpModel::ReadModule(int32_t module,
                                                                 int32_t stage) const {
  HLOSCOPE_TRY(CheckStage(module, stage));
  const std::vector<int32_t> files = ModuleFiles(*this, module, stage);
  if (files.empty()) {
    const ModuleEntry& entry = modules_[static_cast<size_t>(module)];
    return std::unexpected(
        NoSuch(fmt::format("module {}: no readable file for stage {}", entry.name,
                           entry.stages[static_cast<size_t>(stage)].name),
               path_));
  }
  std::optional<Error> first;
  for (const int32_t k : files) {
    Result<LoadedModule> loaded = slots_->Load(FullPath(k), limits_);
    if (loaded) return loaded->module;
    Warn(loaded.error().ToString());
    if (!first) first = std::move(loaded).error();
  }
  return std::unexpected(*std::move(first));
}

Result<std::shared_ptr<const InstructionLookup>> DumpModel::Lookup(int32_t module) const {
  HLOSCOPE_TRY(CheckModule(module));
  return slots_->modules[static_cast<size_t>(module)].lookup.Get(
      [&]() -> Result<std::shared_ptr<const InstructionLookup>> {
        HLOSCOPE_ASSIGN_OR_RETURN(auto final_module, Module(module, FinalStage(module)));
        return std::make_shared<const InstructionLookup>(std::move(final_module));
      });
}

Result<std::shared_ptr<const KernelTable>> DumpModel::Kernels(int32_t module) const {
  HLOSCOPE_TRY(CheckModule(module));
  return slots_->modules[static_cast<size_t>(module)].kernels.Get(
      [&] { return MakeKernelTable(*this, module); });
}

Result<std::shared_ptr<const ThunkSequence>> DumpModel::Thunks(int32_t module) const {
  HLOSCOPE_TRY(CheckModule(module));
  return slots_->modules[static_cast<size_t>(module)].thunks.Get(
      [&] { return MakeThunkSequence(*this, module); });
}

Result<std::shared_ptr<const BufferTable>> DumpModel::Buffers(int32_t module) const {
  HLOSCOPE_TRY(CheckModule(module));
  return slots_->modules[static_cast<size_t>(module)].buffers.Get(
      [&] { return MakeBufferTable(*this, module); });
}

Result<std::shared_ptr<const TensorFlowGraph>> DumpModel::TensorFlow(int32_t file) const {
  if (file < 0 || static_cast<size_t>(file) >= files_.size())
    return std::unexpected(NoSuch(fmt::format("no file {} in this dump", file), path_));
  return slots_->graphs[static_cast<size_t>(file)].Get(
      [&] { return MakeTensorFlowGraph(*this, file); });
}

Result<std::shared_ptr<const TensorFlowSummary>> DumpModel::TensorFlow() const {
  return slots_->tensorflow.Get([&]() -> Result<std::shared_ptr<const TensorFlowSummary>> {
    return MakeTensorFlowSummary(*this);
  });
}

}  // namespace hloscope::dump
