// Gathering kernels: PTX and LLVM IR first, then what thunks, objects and fusions say about them.
#include "core/dump/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/dump/instruction_lookup.h"
#include "core/dump/readers/code_reader.h"
#include "core/dump/readers/elf_reader.h"

namespace hloscope::dump {
namespace {

constexpr std::string_view kTies[] = {"none",   "metadata",    "name",      "numbered name",
                                      "target", "computation", "collective"};

// `name` without `_12` or `__12` at its end; unchanged if it has none.
std::string_view WithoutNumber(std::string_view name) {
  size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos || end + 1 == name.size() || name[end] != '_') return name;
  while (end > 0 && name[end - 1] == '_') --end;
  return end == 0 ? name : name.substr(0, end);
}

// `fusion_3` of `k12_fusion_3`, as hloscope's own compiler names kernels; else as it is.
std::string_view WithoutKernelNumber(std::string_view name) {
  const size_t end = name.starts_with('k') ? name.find_first_not_of("0123456789", 1) : 0;
  const bool is_numbered = end != std::string_view::npos && end > 1 && name[end] == '_';
  return is_numbered ? name.substr(end + 1) : name;
}

std::string_view WithoutSuffix(std::string_view name, std::string_view suffix) {
  if (name.size() > suffix.size() && name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return name;
}

// The fusion or instruction that a file of one LLVM or MLIR module is named after.
std::string_view NamedInFile(std::string_view detail) {
  if (detail.starts_with("__compute_module_"))
    detail.remove_prefix(std::string_view("__compute_module_").size());
  for (std::string_view suffix : {".before_validation", "_kernel_module", "_computation"})
    detail = WithoutSuffix(detail, suffix);
  return detail;
}

class Gather {
 public:
  Gather(const DumpModel& model, int32_t module)
      : model_(model),
        module_(module),
        entry_(model.modules()[static_cast<size_t>(module)]),
        for_gpu_(entry_.device == "gpu") {}

  std::shared_ptr<const KernelTable> Make() {
    for (int32_t file : entry_.files) ReadCode(file);
    IndexDetails();
    for (int32_t file : entry_.files) ReadObject(file);
    TakeThunks();
    if (table_->kernels.empty()) return table_;
    if (auto lookup = model_.Lookup(module_)) {
      lookup_ = *std::move(lookup);
      for (Kernel& kernel : table_->kernels) Tie(kernel);
    } else {
      for (Kernel& kernel : table_->kernels) kernel.note = "the optimized module cannot be read";
    }
    for (int32_t file : entry_.files) AttachByFileName(file);
    Sort();
    return table_;
  }

 private:
  Kernel& Named(const std::string& name) {
    auto [at, is_new] = positions_.try_emplace(name, table_->kernels.size());
    if (is_new) table_->kernels.emplace_back().name = name;
    return table_->kernels[at->second];
  }

  void ReadCode(int32_t file) {
    const FileEntry& entry = model_.files()[static_cast<size_t>(file)];
    bool is_ptx = entry.role == FileRole::kPtx;
    bool is_llvm =
        entry.role == FileRole::kLlvmOptimized || entry.role == FileRole::kLlvmUnoptimized;
    bool is_assembly = entry.role == FileRole::kAssembly;
    if (!is_ptx && !is_llvm && !is_assembly) return;
    if (entry.kind == FileKind::kEmpty) return;
    auto text = model_.OpenFile(file);
    if (!text) {
      table_->warnings.push_back(text.error().ToString());
      return;
    }
    const auto functions =
        WithinMemory(model_.limits(), text->path(), [&]() -> Result<std::vector<CodeFunction>> {
          return is_ptx        ? ReadPtx(text->bytes())
                 : is_assembly ? ReadAssembly(text->bytes())
                               : ReadLlvm(text->bytes(), for_gpu_);
        });
    if (!functions) {
      table_->warnings.push_back(functions.error().ToString());
      return;
    }
    for (const CodeFunction& function : *functions) {
      if (!function.is_kernel) continue;
      if (function.is_cut) {
        table_->warnings.push_back(fmt::format("{}:{}: the text ends inside kernel {}", entry.path,
                                               function.first_line, function.name));
      }
      Take(file, entry.role, function);
    }
    if (functions->empty() && is_ptx && text->bytes().find(".version") == std::string_view::npos)
      table_->warnings.push_back(entry.path + ": no PTX in it");
  }

  // What an object defines is known without its LLVM IR too: the functions that others may call.
  void ReadObject(int32_t file) {
    const FileEntry& entry = model_.files()[static_cast<size_t>(file)];
    bool is_object = entry.role == FileRole::kObject && entry.kind == FileKind::kObject;
    if (!is_object || details_.contains(DetailOf(entry))) return;
    auto bytes = model_.OpenFile(file);
    if (!bytes) {
      table_->warnings.push_back(bytes.error().ToString());
      return;
    }
    auto functions = WithinMemory(model_.limits(), bytes->path(),
                                  [&] { return ReadObjectFunctions(bytes->bytes()); });
    if (!functions) {
      Error error = functions.error();
      error.message.insert(0, "cannot list its kernels: ");
      error.place.file = entry.path;
      table_->warnings.push_back(error.ToString());
      return;
    }
    for (const ObjectFunction& function : *functions) Named(function.name).object = {file, 0, 0};
    if (functions->empty()) table_->warnings.push_back(entry.path + ": no functions in it");
  }

  void Take(int32_t file, FileRole role, const CodeFunction& function) {
    Kernel& kernel = Named(function.name);
    TextRange range{file, function.first_line, function.last_line};
    TextRange& place = role == FileRole::kPtx             ? kernel.ptx
                       : role == FileRole::kAssembly      ? kernel.assembly
                       : role == FileRole::kLlvmOptimized ? kernel.llvm
                                                          : kernel.llvm_unoptimized;
    if (place.found()) {
      table_->warnings.push_back(fmt::format("{}:{}: kernel {} is also in {}",
                                             model_.files()[static_cast<size_t>(file)].path,
                                             function.first_line, function.name,
                                             model_.files()[static_cast<size_t>(place.file)].path));
      return;
    }
    place = range;
    std::string_view source = role == FileRole::kPtx ? "ptx" : "llvm";
    if (function.launch.threads && !kernel.launch.threads) {
      kernel.launch.threads = function.launch.threads;
      kernel.launch_source = source;
    }
    if (function.launch.blocks && !kernel.launch.blocks) {
      kernel.launch.blocks = function.launch.blocks;
    }
    if (role == FileRole::kPtx) kernel.reads_block_index = function.reads_block_index;
    if (function.launch.cluster && !kernel.launch.cluster)
      kernel.launch.cluster = function.launch.cluster;
    auto keep = [](auto& mine, const auto& theirs) {
      if (!mine) mine = theirs;
    };
    keep(kernel.max_threads, function.max_threads);
    keep(kernel.registers, function.registers);
    keep(kernel.shared_bytes, function.shared_bytes);
    keep(kernel.local_bytes, function.local_bytes);
  }

  void TakeThunks() {
    auto thunks = model_.Thunks(module_);
    if (!thunks) {
      table_->warnings.push_back(thunks.error().ToString());
      return;
    }
    for (const auto* list : {&(*thunks)->thunks, &(*thunks)->after_passes}) {
      for (const Thunk& thunk : *list) {
        if (!thunk.kernel.empty()) TakeThunk(thunk);
      }
    }
  }

  void TakeThunk(const Thunk& thunk) {
    Kernel& kernel = Named(thunk.kernel);
    if (thunk.launch.known()) {
      const LaunchDimensions of_code = std::exchange(kernel.launch, thunk.launch);
      if (!kernel.launch.blocks) kernel.launch.blocks = of_code.blocks;
      if (!kernel.launch.threads) kernel.launch.threads = of_code.threads;
      kernel.launch_source = "thunk";
    }
    if (thunk.shared_bytes.value_or(0) > kernel.shared_bytes.value_or(0))
      kernel.shared_bytes = thunk.shared_bytes;
    if (!thunk.tied_by_metadata) return;
    kernel.tie = KernelTie::kMetadata;
    if (!named_by_thunks_.emplace(thunk.kernel, thunk.instruction).second) return;
    kernel.instructions.push_back(thunk.instruction);
    kernel.instruction = kernel.instructions.front();
  }

  bool TieTo(Kernel& kernel, KernelTie tie, const std::vector<hlo::InstructionId>& found) const {
    if (found.empty()) return false;
    kernel.tie = tie;
    for (hlo::InstructionId id : found)
      kernel.instructions.emplace_back(lookup_->module().name(id));
    kernel.instruction = kernel.instructions.front();
    return true;
  }

  bool TieToCollective(Kernel& kernel, std::string_view name) const {
    hlo::InstructionId id = lookup_->ByCollectiveKernel(name);
    return id.valid() && TieTo(kernel, KernelTie::kCollective, {id});
  }

  void Tie(Kernel& kernel) const {
    if (kernel.tie != KernelTie::kNone) return;
    std::string_view name = kernel.name, plain = WithoutSuffix(name, "_kernel");
    std::string_view unnumbered = WithoutNumber(name);
    bool tied =
        TieTo(kernel, KernelTie::kName, lookup_->ByKernelName(name)) ||
        TieTo(kernel, KernelTie::kName, lookup_->ByKernelName(plain)) ||
        TieTo(kernel, KernelTie::kComputation, lookup_->ByComputationName(name)) ||
        TieTo(kernel, KernelTie::kComputation, lookup_->ByComputationName(plain)) ||
        TieTo(kernel, KernelTie::kNumberedName, lookup_->ByKernelName(unnumbered)) ||
        TieTo(kernel, KernelTie::kComputation, lookup_->ByComputationName(unnumbered)) ||
        TieToCollective(kernel, name) || TieToCollective(kernel, unnumbered) ||
        TieTo(kernel, KernelTie::kNumberedName, lookup_->ByKernelName(WithoutKernelNumber(name))) ||
        TieTo(kernel, KernelTie::kTarget, lookup_->ByTarget(name));
    if (!tied) kernel.note = "no instruction or computation has its name";
  }

  // Objects, Triton IR and MLIR are tied by the fusion that their file is named after.
  void AttachByFileName(int32_t file) {
    const FileEntry& entry = model_.files()[static_cast<size_t>(file)];
    TextRange Kernel::* place = entry.role == FileRole::kObject       ? &Kernel::object
                                : entry.role == FileRole::kTritonIr   ? &Kernel::triton
                                : entry.role == FileRole::kFusionMlir ? &Kernel::mlir
                                                                      : nullptr;
    if (place == nullptr) return;
    std::string detail = DetailOf(entry);
    if (detail.empty() && entry.role == FileRole::kTritonIr) detail = FunctionIn(file);
    auto [begin, end] = details_.equal_range(detail);
    bool found = begin != end;
    for (auto at = begin; at != end; ++at) Attach(table_->kernels[at->second], place, file);
    if (found) return;
    if (by_sanitized_name_.empty()) IndexNames();
    auto [first, last] = by_sanitized_name_.equal_range(SanitizedName(NamedInFile(detail)));
    for (auto at = first; at != last; ++at) Attach(table_->kernels[at->second], place, file);
  }

  // Kernels by their names, with and without "_kernel", and by their instructions'.
  void IndexNames() {
    for (size_t k = 0; k < table_->kernels.size(); ++k) {
      std::string name = SanitizedName(table_->kernels[k].name);
      by_sanitized_name_.emplace(SanitizedName(table_->kernels[k].instruction), k);
      if (name.ends_with("_kernel")) by_sanitized_name_.emplace(WithoutSuffix(name, "_kernel"), k);
      by_sanitized_name_.emplace(std::move(name), k);
    }
  }

  // The first function of an MLIR text: earlier XLA put no fusion into the file's name.
  std::string FunctionIn(int32_t file) const {
    auto text = model_.OpenFile(file);
    if (!text) return {};
    std::string_view bytes = text->bytes();
    size_t at = bytes.find("func");
    at = at == std::string_view::npos ? at : bytes.find('@', at);
    if (at == std::string_view::npos) return {};
    std::string_view name = bytes.substr(at + 1);
    name = name.substr(0, name.find('('));
    return std::string(WithoutSuffix(name, "_impl"));
  }

  // The last form of MLIR and Triton IR counts: files come sorted, "-post-lowering" before
  // "-post-optimization", "before_validation" before the validated one.
  void Attach(Kernel& kernel, TextRange Kernel::* place, int32_t file) const {
    TextRange& range = kernel.*place;
    bool lowered = range.found() && model_.files()[static_cast<size_t>(range.file)].path.find(
                                        "-post-lowering") != std::string::npos;
    if (!lowered) range = {file, 0, 0};
  }

  // The LLVM module that a file of this module is named after.
  std::string DetailOf(const FileEntry& entry) const {
    std::string_view name = BareFileName(entry.path);
    auto parts = ParseDumpFileName(name);
    if (!parts) return std::string(MatchRole(name).value_or(RoleMatch{}).detail);
    std::string_view rest = parts->rest;
    if (rest.starts_with(entry_.name)) {
      rest.remove_prefix(entry_.name.size());
      if (rest.starts_with('.')) rest.remove_prefix(1);
    }
    return std::string(MatchRole(rest).value_or(RoleMatch{}).detail);
  }

  // Kernels by the LLVM module that they stand in: objects and MLIR of that module are theirs.
  void IndexDetails() {
    for (size_t k = 0; k < table_->kernels.size(); ++k) {
      const Kernel& kernel = table_->kernels[k];
      int32_t file = kernel.llvm.found() ? kernel.llvm.file : kernel.llvm_unoptimized.file;
      if (file < 0) continue;
      std::string detail = DetailOf(model_.files()[static_cast<size_t>(file)]);
      if (!detail.empty()) details_.emplace(std::move(detail), k);
    }
  }

  void Sort() {
    std::unordered_map<std::string_view, size_t> order;
    if (lookup_ != nullptr) {
      for (size_t k = 0; k < lookup_->program().size(); ++k)
        order.try_emplace(lookup_->module().name(lookup_->program()[k]), k);
    }
    std::ranges::stable_sort(table_->kernels, {}, [&](const Kernel& kernel) {
      auto at = order.find(kernel.instruction);
      return std::pair(at == order.end() ? SIZE_MAX : at->second, std::string_view(kernel.name));
    });
  }

  const DumpModel& model_;
  int32_t module_;
  const ModuleEntry& entry_;
  bool for_gpu_;
  std::shared_ptr<KernelTable> table_ = std::make_shared<KernelTable>();
  std::unordered_map<std::string, size_t> positions_;
  std::multimap<std::string, size_t> details_;
  std::unordered_multimap<std::string, size_t> by_sanitized_name_;
  std::set<std::pair<std::string, std::string>> named_by_thunks_;  // kernel and instruction
  std::shared_ptr<const InstructionLookup> lookup_;
};

}  // namespace

std::string_view ToString(KernelTie tie) { return kTies[static_cast<size_t>(tie)]; }

const Kernel* KernelTable::Find(std::string_view name) const {
  auto at = std::ranges::find(kernels, name, &Kernel::name);
  return at == kernels.end() ? nullptr : &*at;
}

Result<std::shared_ptr<const KernelTable>> MakeKernelTable(const DumpModel& model, int32_t module) {
  return Gather(model, module).Make();
}

}  // namespace hloscope::dump
