// An entry: the ids, the image of the kernels, the compiled module's image and its plan.
#include "core/backends/compiled/compilation_cache.h"

#include <algorithm>

#include "core/base/build_id.h"
#include "core/base/byte_archive.h"
#include "core/base/quick_hash.h"
#include "core/compile/plan/check_plan.h"
#include "core/compile/plan/plan_archive.h"
#include "core/hlo/module_image.h"

namespace hloscope::compile {

// All members by name, so that a new one does not compile until it is in the key of a compilation.
template <typename A>
void Archive(A& a, Archived<A, CompileOptions>& options) {
  auto& [disabled_passes, keep_stages, verify, keep_values, is_unpartitioned, library_calls,
         plan_collectives, gpu_kernels, byte_kernels] = options;
  a(disabled_passes, keep_stages, verify, keep_values, is_unpartitioned, library_calls);
  a(plan_collectives, gpu_kernels, byte_kernels);
}

}  // namespace hloscope::compile

namespace hloscope::replay {

using hlo::InstructionId;

namespace {

// Of the module's image, whose values are aligned in itself.
constexpr size_t kEntryAlignment = 64;

// Which build of the compiler this is.
std::string OwnBuild() {
  static const std::string id = BuildIdAt(reinterpret_cast<const void*>(&OwnBuild));
  return id;
}

struct Parts {
  std::vector<InstructionId> kernels, new_id;
  std::string kernel_image;
  std::span<const std::byte> module;
};

// `archive` is a ByteWriter or a ByteReader.
template <typename A, typename P>
void ArchiveIds(A& archive, P& parts) {
  archive(parts.kernels, parts.new_id, parts.kernel_image);
}

// Ids that lead into the module; what has none is invalid.
bool LeadInto(const hlo::Module& module, const std::vector<InstructionId>& ids) {
  return std::ranges::all_of(ids, [&](InstructionId id) {
    return !id.valid() || id.index < module.instructions().size();
  });
}

// Of a compilation that has its module; fails the reader where there is none.
void ReadPlan(ByteReader& in, compile::Compilation& compilation) {
  in(compilation.why_no_plan);
  if (!in.Get<bool>()) return;
  compile::Plan plan;
  plan.module = compilation.module;
  in(plan);
  if (in.ok() && !compile::CheckPlan(plan)) return in.Fail();
  compilation.plan = std::make_shared<const compile::Plan>(std::move(plan));
}

}  // namespace

CompilationCache::CompilationCache(const hlo::Module& module, const compile::CompileOptions& how,
                                   const std::string& target, const RunOptions& options)
    : instructions_(module.instructions().size()) {
  const std::string build = OwnBuild();
  DiskCache files(DiskCache::FolderOfUser(kObjectCacheFolder), options.limits.object_cache_bytes);
  if (!options.load.object_cache || target.empty() || build.empty() || files.folder().empty())
    return;
  files_ = std::move(files);
  const std::string image = hlo::ModuleToImage(module);
  stamp_ = QuickHashes(image, std::array<uint64_t, 2>{1, 2});
  ByteWriter key;
  key(stamp_, target, build, how);
  name_ = std::move(key).Take();
}

std::optional<CachedCompilation> CompilationCache::Load() const {
  if (!files_) return std::nullopt;
  auto entry = files_->Load(name_, stamp_);
  if (!entry) return std::nullopt;
  // The module's constants stay views of it.
  const auto bytes = std::make_shared<const std::string>(*std::move(entry));
  ByteReader in(std::as_bytes(std::span(*bytes)), bytes);
  Parts parts;
  ArchiveIds(in, parts);
  const auto size = in.Get<uint64_t>();
  in.Align(kEntryAlignment);
  const auto image = in.Raw(size);
  if (!in.ok()) return std::nullopt;
  auto module = hlo::ModuleFromImage(image, bytes);
  if (!module.has_value()) return std::nullopt;
  const bool fits = parts.new_id.size() == instructions_ && LeadInto(**module, parts.new_id) &&
                    LeadInto(**module, parts.kernels);
  if (!fits) return std::nullopt;
  CachedCompilation out;
  out.kernels = std::move(parts.kernel_image);
  out.compilation.module = *std::move(module);
  out.compilation.kernels = std::move(parts.kernels);
  out.compilation.new_id = std::move(parts.new_id);
  ReadPlan(in, out.compilation);
  if (!in.ok()) return std::nullopt;
  return out;
}

void CompilationCache::Store(const compile::Compilation& compilation,
                             const std::string& kernels) const {
  if (!files_) return;
  ByteWriter out;
  out(compilation.kernels, compilation.new_id, kernels);
  const std::string image = hlo::ModuleToImage(*compilation.module);
  out(uint64_t{image.size()});
  out.Align(kEntryAlignment);
  out.Raw(std::as_bytes(std::span(image)));
  out(compilation.why_no_plan, compilation.plan != nullptr);
  if (compilation.plan != nullptr) out(*compilation.plan);
  files_->Store(name_, stamp_, out.bytes());
}

}  // namespace hloscope::replay
