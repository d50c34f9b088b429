// Finding the files beside a module, checking that they are of the same module, and grafting.
#include "core/dump/complete_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "core/base/counted.h"
#include "core/hlo/proto/spmd_shardings.h"
#include "core/hlo/rewrite/copy_module.h"
#include "core/hlo/sharding/tiling.h"

namespace hloscope::dump {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;
using hlo::Sharding;

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProto = ".hlo.pb", kBefore = "before_optimizations";
constexpr std::string_view kEndings[] = {".txt", ".hlo", kProto};

// `path` without `.gz` and the ending of a module's file; nullopt if it has none.
std::optional<std::string> StagePathOf(std::string path) {
  if (path.ends_with(".gz")) path.resize(path.size() - 3);
  for (std::string_view ending : kEndings) {
    if (!path.ends_with(ending)) continue;
    path.resize(path.size() - ending.size());
    return path;
  }
  return std::nullopt;
}

const Literal* ConstantOf(const Module& module, InstructionId id) {
  if (module[id].opcode != Opcode::kConstant) return nullptr;
  return module.Get<Literal>(module[id], AttributeKey::kConstantValue);
}

std::vector<InstructionId> ElidedConstants(const Module& module) {
  std::vector<InstructionId> elided;
  for (size_t i = 0; i < module.instructions().size(); ++i) {
    const Literal* const value = ConstantOf(module, InstructionId(i));
    if (value != nullptr && value->elided()) elided.push_back(InstructionId(i));
  }
  return elided;
}

// By name, which is unique in a module that XLA wrote. Elements of tuples have none in texts that
// write `%tuple#3` for them.
class SameModule {
 public:
  SameModule(const Module& module, const Module& other) : module_(module), other_(other) {
    for (size_t i = 0; i < other.instructions().size(); ++i) {
      by_name_.emplace(other.name(InstructionId(i)), InstructionId(i));
    }
  }

  // What differs first; empty: nothing.
  std::string Difference() const {
    const int64_t count = CountNamed(module_), other_count = CountNamed(other_);
    if (count != other_count)
      return fmt::format("{}, not {}", Counted(other_count, "instruction"), count);
    for (size_t i = 0; i < module_.instructions().size(); ++i) {
      if (!IsElement(module_, InstructionId(i)) && !Agrees(InstructionId(i)))
        return std::string(module_.name(InstructionId(i)));
    }
    return {};
  }

  InstructionId Of(InstructionId id) const {
    const auto found = by_name_.find(module_.name(id));
    return found == by_name_.end() ? InstructionId() : found->second;
  }

 private:
  static bool IsElement(const Module& module, InstructionId id) {
    return module[id].opcode == Opcode::kGetTupleElement && module.operands(id).size() == 1;
  }
  static int64_t CountNamed(const Module& module) {
    int64_t count = 0;
    for (size_t i = 0; i < module.instructions().size(); ++i) {
      if (!IsElement(module, InstructionId(i))) ++count;
    }
    return count;
  }

  bool IsSameValue(InstructionId a, InstructionId b) const {
    while (IsElement(module_, a) && IsElement(other_, b)) {
      if (module_.GetInt(module_[a], AttributeKey::kIndex) !=
          other_.GetInt(other_[b], AttributeKey::kIndex)) {
        return false;
      }
      a = module_.operands(a)[0];
      b = other_.operands(b)[0];
    }
    return module_.name(a) == other_.name(b);
  }

  bool Agrees(InstructionId id) const {
    const InstructionId other = Of(id);
    if (!other.valid() || module_[id].opcode != other_[other].opcode) return false;
    if (!hlo::Compatible(module_.shape(id), other_.shape(other))) return false;
    const bool same_operands =
        std::ranges::equal(module_.operands(id), other_.operands(other),
                           [&](InstructionId a, InstructionId b) { return IsSameValue(a, b); });
    const Literal* const a = ConstantOf(module_, id);
    const Literal* const b = ConstantOf(other_, other);
    if (!same_operands || (a == nullptr) != (b == nullptr)) return false;
    return a == nullptr || a->elided() || b->elided() || *a == *b;
  }

  const Module& module_;
  const Module& other_;
  std::map<std::string_view, InstructionId> by_name_;
};

std::shared_ptr<const Module> LoadQuietly(const std::string& path, const Limits& limits) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return nullptr;
  const auto loaded = LoadModule(path, limits);
  return loaded.has_value() ? loaded->module : nullptr;
}

void TakeConstants(const std::string& stage, const Limits& limits, CompletedModule& completed) {
  const Module& module = *completed.module;
  const std::vector<InstructionId> elided = ElidedConstants(module);
  if (elided.empty()) return;
  for (const std::string& path :
       {stage + std::string(kProto), stage + std::string(kProto) + ".gz"}) {
    const auto other = LoadQuietly(path, limits);
    if (other == nullptr) continue;
    const SameModule same(module, *other);
    if (const std::string difference = same.Difference(); !difference.empty()) {
      completed.notes.push_back(
          fmt::format("elided constants are not read from {}: it is a different module ({})", path,
                      difference));
      continue;
    }
    hlo::ModuleBuilder builder = hlo::CopyModule(module);
    size_t taken = 0;
    for (InstructionId id : elided) {
      const Literal* const value = ConstantOf(*other, same.Of(id));
      if (value->elided()) continue;
      builder.SetAttribute(id, builder.Make(AttributeKey::kConstantValue, *value));
      ++taken;
    }
    if (taken == 0) continue;
    completed.module = builder.Build();
    completed.notes.push_back(
        fmt::format("the values of {} are read from {}", Counted(taken, "elided constant"), path));
    return;
  }
}

// The file of the module before optimization: its name is that of the stage up to the stage's own.
std::shared_ptr<const Module> ModuleBefore(const std::string& stage, const Limits& limits,
                                           std::string& path) {
  const std::string own = fs::path(stage).filename().string();
  for (size_t dot = own.rfind('.'); dot != std::string::npos && dot > 0;
       dot = own.rfind('.', dot - 1)) {
    const std::string start =
        (fs::path(stage).parent_path() / own.substr(0, dot + 1)).string() + std::string(kBefore);
    for (std::string_view ending : kEndings) {
      for (std::string_view packed : {"", ".gz"}) {
        path = fmt::format("{}{}{}", start, ending, packed);
        if (auto before = LoadQuietly(path, limits)) return before;
      }
    }
  }
  return nullptr;
}

// True if `part` is what one device holds of `whole`.
bool IsCutBy(const Sharding& sharding, const Shape& whole, const Shape& part, int64_t devices) {
  if (!whole.IsArray() || !part.IsArray() || whole.rank() != part.rank()) return false;
  if (whole.element_type() != part.element_type()) return false;
  const auto tiling = hlo::TilingOf(sharding, whole.rank(), devices);
  if (!tiling) return false;
  for (size_t d = 0; d < whole.rank(); ++d) {
    const int64_t tiles = tiling->tiles[d];
    if ((whole.dimension(d) + tiles - 1) / tiles != part.dimension(d)) return false;
  }
  return true;
}

// `sharding`, if by it each leaf of `whole` becomes that of `part`.
const Sharding* IfItCuts(const Sharding* sharding, const Shape& whole, const Shape& part,
                         int64_t devices) {
  const auto wholes = whole.LeafShapes(), parts = part.LeafShapes();
  if (sharding == nullptr || wholes.size() != parts.size()) return nullptr;
  const bool is_tuple = sharding->kind == hlo::ShardingKind::kTuple;
  if (is_tuple && sharding->elements.size() != parts.size()) return nullptr;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Sharding& own = is_tuple ? sharding->elements[i] : *sharding;
    if (!IsCutBy(own, *wholes[i], *parts[i], devices)) return nullptr;
  }
  return sharding;
}

// What the partitioner did, by the proto of the stage: of each parameter, and of the result.
struct Partitioned {
  std::vector<Sharding> parameters;
  std::optional<Sharding> result;
};

Partitioned PartitionedBy(const Module& module, const std::string& stage, const Limits& limits) {
  Partitioned done{hlo::SpmdParameterShardings(module, limits),
                   module.header().spmd_output_sharding};
  for (std::string_view packed : {"", ".gz"}) {
    if (!done.parameters.empty()) break;
    const auto proto = LoadQuietly(fmt::format("{}{}{}", stage, kProto, packed), limits);
    if (proto == nullptr) continue;
    done.parameters = hlo::SpmdParameterShardings(*proto, limits);
    if (!done.result) done.result = proto->header().spmd_output_sharding;
  }
  return done;
}

// With Shardy the module before optimization has no shardings of its own, the proto of the stage
// has those that came of it.
void TakeShardings(const std::string& stage, const Limits& limits, CompletedModule& completed) {
  const Module& module = *completed.module;
  const int64_t devices = module.header().num_partitions;
  const auto now = module.Parameters(module.entry_id());
  const auto has_lost = [&](InstructionId id) {
    return id.valid() && module.Find(id, AttributeKey::kSharding) == nullptr;
  };
  if (devices <= 1 || !module.header().is_scheduled || std::ranges::none_of(now, has_lost)) return;
  std::string path;
  const auto before = ModuleBefore(stage, limits, path);
  if (before == nullptr) return;
  const auto then = before->Parameters(before->entry_id());
  if (now.size() != then.size()) return;
  std::optional<Partitioned> done;  // read for the first that needs it
  bool is_of_proto = false;
  const auto sharding_of = [&](InstructionId id, const Shape& part, const auto& otherwise) {
    const auto* own = before->Get<Sharding>((*before)[id], AttributeKey::kSharding);
    const Shape& whole = before->shape(id);
    if (const Sharding* cut = IfItCuts(own, whole, part, devices)) return cut;
    if (!done) done = PartitionedBy(module, stage, limits);
    const Sharding* const cut = IfItCuts(otherwise(*done), whole, part, devices);
    is_of_proto |= cut != nullptr;
    return cut;
  };
  hlo::ModuleBuilder builder = hlo::CopyModule(module);
  size_t taken = 0;
  for (size_t p = 0; p < now.size(); ++p) {
    if (!has_lost(now[p]) || !then[p].valid()) continue;
    const Sharding* const sharding =
        sharding_of(then[p], module.shape(now[p]), [&](const Partitioned& by) {
          return by.parameters.size() == now.size() ? &by.parameters[p] : nullptr;
        });
    if (sharding == nullptr) continue;
    builder.SetAttribute(now[p], builder.Make(AttributeKey::kSharding, *sharding));
    ++taken;
  }
  if (!module.header().spmd_output_sharding) {
    const Sharding* const result =
        sharding_of(before->entry().root, module.shape(module.entry().root),
                    [](const Partitioned& by) { return by.result ? &*by.result : nullptr; });
    if (result != nullptr) builder.header().spmd_output_sharding = *result;
    taken += result != nullptr ? 1 : 0;
  }
  if (taken == 0) return;
  completed.module = builder.Build();
  completed.notes.push_back(fmt::format("the shardings of parameters and results are read from {}",
                                        is_of_proto ? stage + std::string(kProto) : path));
}

}  // namespace

CompletedModule CompleteFromDump(const LoadedModule& loaded, const Limits& limits) {
  CompletedModule completed{loaded.module, {}};
  const auto stage = StagePathOf(loaded.path);
  if (!stage || loaded.module == nullptr) return completed;
  TakeConstants(*stage, limits, completed);
  TakeShardings(*stage, limits, completed);
  return completed;
}

Result<CompletedModule> CompleteStage(const DumpModel& dump, int32_t module, int32_t stage,
                                      const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(auto given, dump.Module(module, stage));
  const int32_t file = dump.ModuleFile(module, stage);
  if (file < 0) return InputError("the stage has no file");
  HLOSCOPE_ASSIGN_OR_RETURN(FileView view, dump.OpenFile(file));
  return CompleteFromDump({.path = dump.FullPath(file),
                           .file = std::move(view),
                           .module = std::move(given),
                           .diagnostics = {},
                           .proto = {}},
                          limits);
}

}  // namespace hloscope::dump
