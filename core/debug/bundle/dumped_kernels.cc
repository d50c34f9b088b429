// Kernels of a dump in and out of bundles.
#include "core/debug/bundle/dumped_kernels.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include "core/base/file.h"
#include "core/base/zip.h"
#include "core/debug/bundle/redact_code.h"
#include "core/dump/bundle_file.h"
#include "core/dump/complete_module.h"
#include "core/dump/gpu_target.h"

namespace hloscope::debug {
namespace {

using dump::FileRole;

// What a run reads beside the last stage.
constexpr FileRole kRead[] = {
    FileRole::kBufferAssignment, FileRole::kGpuTarget, FileRole::kThunkSequence,
    FileRole::kThunkMetadata,    FileRole::kPtx,       FileRole::kTritonIr};
constexpr std::string_view kLastStage = "_after_optimizations.txt";

// Whether a launch size is in the LLVM IR alone, which is large and has nothing else that a run
// reads.
bool NeedsLlvm(const dump::DumpModel& dump, int32_t module) {
  const auto kernels = dump.Kernels(module);
  const auto thunks = dump.Thunks(module);
  if (!kernels || !thunks) return false;
  std::set<std::string_view> told;
  for (const dump::Thunk& thunk : (*thunks)->thunks) {
    if (thunk.launch.blocks && thunk.launch.threads) told.insert(thunk.kernel);
  }
  return std::ranges::any_of((*kernels)->kernels, [&](const dump::Kernel& kernel) {
    const bool is_known =
        kernel.launch.blocks || (kernel.launch_source == "llvm" && !kernel.reads_block_index);
    return kernel.ptx.found() && is_known && !told.contains(kernel.name);
  });
}

bool IsLlvm(FileRole role) {
  return role == FileRole::kLlvmOptimized || role == FileRole::kLlvmUnoptimized;
}

std::string WithoutExtension(std::string name) {
  for (const std::string_view extension : {".txt", ".hlo.pb", ".pbtxt", ".hlo", ".pb"}) {
    if (name.ends_with(extension)) return name.substr(0, name.size() - extension.size());
  }
  return name;
}

}  // namespace

DumpedKernels ReadDumpedKernels(const dump::DumpModel& dump, int32_t module, const Limits& limits) {
  DumpedKernels kernels;
  if (dump.FindFile(module, FileRole::kThunkSequence) < 0) return kernels;
  const int32_t stage = dump.FinalStage(module), file = dump.ModuleFile(module, stage);
  const auto last = dump::CompleteStage(dump, module, stage, limits);
  if (!last) return kernels;
  std::vector<int32_t> files = dump.modules()[static_cast<size_t>(module)].files;
  if (const int32_t target = dump::FindGpuTarget(dump, module); target >= 0)
    files.push_back(target);
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  const bool needs_llvm = NeedsLlvm(dump, module);
  for (const int32_t f : files) {
    const dump::FileEntry& entry = dump.files()[static_cast<size_t>(f)];
    const bool is_read = std::ranges::find(kRead, entry.role) != std::end(kRead) ||
                         (needs_llvm && IsLlvm(entry.role));
    if (!is_read || !dump::IsText(entry.kind)) continue;
    const auto text = dump.OpenFile(f);
    if (!text) continue;
    kernels.files.emplace_back(std::filesystem::path(entry.path).filename().string(),
                               std::string(text->bytes()));
  }
  kernels.module_file =
      WithoutExtension(std::filesystem::path(dump.FullPath(file)).filename().string()) + ".txt";
  kernels.module = last->module;
  return kernels;
}

void LearnFrom(const DumpedKernels& kernels, Redactor& redactor) {
  for (const auto& [name, text] : kernels.files) redactor.Learn(text);
}

Result<std::string> PackKernels(const DumpedKernels& kernels, Redactor& redactor,
                                RedactionOptions options, const Limits& limits) {
  std::vector<std::pair<std::string, std::string>> redacted;
  HLOSCOPE_ASSIGN_OR_RETURN(const RedactedModule module,
                            RedactModule(*kernels.module, redactor, options, limits));
  redacted.emplace_back(redactor.Name(kernels.module_file), module.text);
  for (const auto& [name, text] : kernels.files) {
    const std::string_view comment = name.ends_with(".ptx")  ? "//"
                                     : name.ends_with(".ll") ? ";"
                                                             : "";
    redacted.emplace_back(redactor.Name(name), RedactCode(text, comment, options.text, redactor));
  }
  std::vector<ZipEntry> entries;
  for (const auto& [name, text] : redacted)
    entries.push_back({.name = name, .bytes = text, .deflate = true});
  return WriteZip(entries);
}

Result<std::string> UnpackKernels(std::string_view archive, const std::string& folder,
                                  const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const ZipArchive zip,
                            ZipArchive::Open(FileView::FromBytes("dump.zip", std::string(archive)),
                                             limits, ZipRules::kStrict));
  std::string last;
  for (const ZipArchive::Member& member : zip.members()) {
    if (member.name.find('/') != std::string::npos)
      return InputError("dump.zip: " + member.name + ": its files lie in no folders");
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string bytes, zip.Read(member));
    const std::string path = folder + "/" + member.name;
    HLOSCOPE_TRY(WriteFileAtomically(path, bytes));
    if (member.name.ends_with(kLastStage)) last = path;
  }
  if (last.empty()) return InputError("dump.zip: the last stage of the module is missing");
  return last;
}

Result<std::unique_ptr<const BundledKernels>> KernelsOfBundle(const std::string& file,
                                                              const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto bundle, dump::OpenIfBundle(file, limits));
  if (!bundle || !bundle->Has(dump::BundlePart::kDump)) return nullptr;
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string archive, bundle->Read(dump::BundlePart::kDump));
  HLOSCOPE_ASSIGN_OR_RETURN(auto folder, ScratchFolder::Make());
  HLOSCOPE_ASSIGN_OR_RETURN(std::string module_file, UnpackKernels(archive, folder.path(), limits));
  return std::make_unique<const BundledKernels>(std::move(folder), std::move(module_file));
}

Result<std::string> ChoicesOfBundle(const std::string& file, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto bundle, dump::OpenIfBundle(file, limits));
  if (!bundle || !bundle->Has(dump::BundlePart::kChoices)) return "";
  return bundle->Read(dump::BundlePart::kChoices);
}

}  // namespace hloscope::debug
