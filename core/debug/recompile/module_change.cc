// Parameters first, then what the modules compute, then how they were asked to be compiled.
#include "core/debug/recompile/module_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <span>

#include "core/analysis/align/compare_modules.h"
#include "core/base/counted.h"
#include "core/debug/recompile/log_line.h"
#include "core/debug/recompile/type_change.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/text/text.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::debug {
namespace {

using analysis::InstructionChange;
using analysis::InstructionName;
using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;

constexpr size_t kLongest = 60;  // characters of a value in a sentence

std::string Shortened(std::string text) {
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return text;
}

// "x" where the front end named the argument, else its number.
std::string ArgumentName(const Module& module, InstructionId parameter, size_t number) {
  const auto* metadata = module.Get<hlo::OpMetadata>(module[parameter], AttributeKey::kMetadata);
  std::string_view name = metadata == nullptr ? std::string_view() : module[metadata->op_name];
  const bool generic = name.empty() || name == "XLA_Args" || name.starts_with("xla__") ||
                       name.find('/') != std::string_view::npos;
  return generic ? fmt::format("{}", number) : std::string(name);
}

std::string ShardingText(const Module& module, InstructionId id) {
  const auto* sharding = module.Get<hlo::Sharding>(module[id], AttributeKey::kSharding);
  if (sharding == nullptr) return "none";
  std::string text;
  hlo::AppendSharding(text, *sharding, false);
  return text;
}

std::string ConstantText(const Module& module, const std::string& name) {
  const InstructionId id = hlo::FindInstruction(module, name);
  if (!id.valid()) return {};
  const auto* literal = module.Get<hlo::Literal>(module[id], AttributeKey::kConstantValue);
  if (literal == nullptr || literal->elided()) return {};
  std::string text = hlo::ToString(module.shape(id), false) + " ";
  hlo::AppendLiteral(text, *literal, true);
  return Shortened(std::move(text));
}

// The instruction as text, without metadata and layouts.
std::string PrintedText(const Module& module, const std::string& name) {
  std::string text;
  const InstructionId id = hlo::FindInstruction(module, name);
  if (id.valid()) hlo::PrintText(module, id, hlo::TextFormat::kShort, text);
  return std::string(Before(Behind(text, " = ").value_or(text), ", metadata="));
}

// The first word in which two instructions differ: "slice={[0:10]}" and "slice={[1:11]}".
std::pair<std::string, std::string> Differing(std::string_view a, std::string_view b) {
  const size_t most = std::min(a.size(), b.size());
  size_t at = 0;
  while (at < most && a[at] == b[at]) ++at;
  if (at == a.size() && at == b.size()) return {};
  while (at > 0 && a[at - 1] != ' ') --at;
  auto word = [&](std::string_view text) {
    size_t end = at;
    for (int depth = 0; end < text.size() && (depth > 0 || text[end] != ' '); ++end) {
      if (text[end] == '{' || text[end] == '[' || text[end] == '(') ++depth;
      if (text[end] == '}' || text[end] == ']' || text[end] == ')') --depth;
    }
    std::string_view found = text.substr(at, end - at);
    while (found.ends_with(',')) found.remove_suffix(1);
    return Shortened(std::string(found.empty() ? "nothing" : found));
  };
  return {word(a), word(b)};
}

// PyTorch/XLA gives all its graphs one name.
bool IsTorchGraph(const Module& module) { return module.name().starts_with("SyncTensorsGraph"); }

// Why a graph of PyTorch/XLA has another number of parameters.
RecompileReason ReasonOfCount(const CompilationFacts& a, const CompilationFacts& b) {
  if (!IsTorchGraph(*b.module)) return RecompileReason::kArguments;
  std::multiset<std::string> gone(a.parameters.begin(), a.parameters.end()), added;
  for (const std::string& type : b.parameters) {
    const auto at = gone.find(type);
    if (at != gone.end()) {
      gone.erase(at);
    } else {
      added.insert(type);
    }
  }
  auto is_scalar = [](const std::string& type) { return type.ends_with("[]"); };
  if (std::ranges::all_of(gone, is_scalar) && std::ranges::all_of(added, is_scalar))
    return RecompileReason::kNumbers;
  std::set<std::string> results;
  const Module& x = *a.module;
  for (const auto& [index, leaf] : x.shape(x.entry().root).Leaves())
    results.insert(hlo::ToString(*leaf, false));
  auto is_result = [&](const std::string& type) {
    return is_scalar(type) || results.contains(type);
  };
  return std::ranges::all_of(gone, is_scalar) && std::ranges::all_of(added, is_result)
             ? RecompileReason::kState
             : RecompileReason::kArguments;
}

std::optional<RecompileCause> ParameterCause(const CompilationFacts& a, const CompilationFacts& b) {
  const Module &x = *a.module, &y = *b.module;
  if (a.parameters.size() != b.parameters.size()) {
    return RecompileCause{ReasonOfCount(a, b), "the list of arrays",
                          Counted(a.parameters.size(), "array"),
                          Counted(b.parameters.size(), "array"), ""};
  }
  const auto ids_x = x.Parameters(x.entry_id()), ids_y = y.Parameters(y.entry_id());
  std::optional<RecompileCause> cause;
  size_t more = 0;
  for (size_t k = 0; k < a.parameters.size(); ++k) {
    if (a.parameters[k] == b.parameters[k] || !ids_y[k].valid()) continue;
    if (cause) {
      ++more;
      continue;
    }
    cause = CauseOfTypes(ArgumentName(y, ids_y[k], k), a.parameters[k], b.parameters[k]);
    if (cause->reason == RecompileReason::kSharding) cause->reason = RecompileReason::kShape;
  }
  if (cause && more > 0) {
    if (!cause->detail.empty()) cause->detail += ", ";
    cause->detail += fmt::format("and of {}", Counted(more, "more argument"));
  }
  for (size_t k = 0; !cause && k < ids_x.size() && k < ids_y.size(); ++k) {
    if (!ids_x[k].valid() || !ids_y[k].valid()) continue;
    std::string from = ShardingText(x, ids_x[k]), to = ShardingText(y, ids_y[k]);
    if (from == to) continue;
    // On one device `replicated` says nothing more than which device it is.
    const bool alone = x.header().num_partitions == 1 && y.header().num_partitions == 1;
    if (alone && !a.devices.empty() && a.devices != b.devices) continue;
    cause = {RecompileReason::kSharding, ArgumentName(y, ids_y[k], k), from, to, ""};
  }
  return cause;
}

RecompileCause DeviceCause(const CompilationFacts& a, const CompilationFacts& b) {
  return {RecompileReason::kDevice, "", a.devices, b.devices, ""};
}

// Of the bodies, where parameters are the same.
std::optional<RecompileCause> BodyCause(const Module& x, const Module& y) {
  const analysis::ModuleComparison found = analysis::CompareModules(x, y);
  if (found.equal) return std::nullopt;
  std::vector<const InstructionChange*> changes;
  for (const InstructionChange& change : found.changed) {
    // Follows from the parameters' own shardings, and from where the call stands.
    const std::string& what = change.what;
    if (what.starts_with("attribute sharding") || what.starts_with("attribute frontend") ||
        what.starts_with("operand"))
      continue;
    changes.push_back(&change);
  }
  const bool same_code = found.added.empty() && found.removed.empty();
  if (changes.empty() && same_code) return std::nullopt;
  auto all = [&](auto holds) { return same_code && std::ranges::all_of(changes, holds); };
  if (all([](const auto* c) { return c->what.starts_with("constant value differs"); })) {
    const InstructionChange& first = *changes.front();
    RecompileCause cause{RecompileReason::kConstant, "", ConstantText(x, first.instruction),
                         ConstantText(y, first.instruction_b), ""};
    if (cause.from == cause.to) cause.from = cause.to = first.instruction + ", of many elements";
    if (changes.size() > 1) cause.detail = fmt::format("and {} more", changes.size() - 1);
    return cause;
  }
  auto is_precision = [](const auto* c) {
    return c->what.starts_with("attribute operand_precision") ||
           c->what.starts_with("attribute algorithm");
  };
  if (all(is_precision)) {
    auto precision = [](const Module& m, const std::string& name) {
      const InstructionId id = hlo::FindInstruction(m, name);
      int64_t most = 0;
      if (!id.valid()) return std::string("another");
      for (int64_t one : m.GetInts(m[id], AttributeKey::kOperandPrecision))
        most = std::max(most, one);
      return std::string(most == 0 ? "default" : most == 1 ? "high" : "highest");
    };
    const InstructionChange& first = *changes.front();
    return RecompileCause{RecompileReason::kFlag, "matmul precision",
                          precision(x, first.instruction), precision(y, first.instruction_b), ""};
  }
  if (all([](const auto* c) {
        return c->what.starts_with("module input_output_alias") ||
               c->what.starts_with("module buffer_donor");
      }))
    return RecompileCause{RecompileReason::kArguments, "what is donated", "one set", "another", ""};
  RecompileCause cause{RecompileReason::kTraced, "", "", "", ""};
  for (const InstructionChange* change : changes) {
    if (change->instruction.empty() || change->instruction_b.empty()) continue;
    const auto [from, to] =
        Differing(PrintedText(x, change->instruction), PrintedText(y, change->instruction_b));
    if (from.empty() && to.empty()) continue;
    cause.from = from;
    cause.to = to;
    cause.detail = fmt::format("seen in {}: {} became {}", change->instruction_b, from, to);
    break;
  }
  if (cause.detail.empty() && !same_code) {
    auto names = [](const std::vector<InstructionName>& of) {
      if (of.empty()) return std::string("nothing");
      return of.front().instruction +
             (of.size() > 1 ? fmt::format(" and {} more", of.size() - 1) : "");
    };
    cause.from = names(found.removed);
    cause.to = names(found.added);
    if (found.removed.empty() && changes.empty() && IsTorchGraph(y))
      return RecompileCause{RecompileReason::kLonger, "", "an earlier one", cause.to, ""};
    if (!found.removed.empty()) cause.detail = fmt::format("gone: {}", cause.from);
    if (!found.added.empty())
      cause.detail += fmt::format("{}new: {}", cause.detail.empty() ? "" : ", ", cause.to);
  }
  return cause;
}

// How many operations two modules have in common, and in all; of each as often as it occurs.
struct CommonOperations {
  int64_t same = 0, all = 0, of_a = 0, of_b = 0;
  bool are_most() const { return same * 10 >= all * 6; }
};

CommonOperations CommonOf(const CompilationFacts& a, const CompilationFacts& b,
                          std::span<const std::string_view> without) {
  std::set<std::string> names;
  for (const auto& [name, count] : a.opcodes) names.insert(name);
  for (const auto& [name, count] : b.opcodes) names.insert(name);
  const auto count = [](const CompilationFacts& facts, const std::string& name) {
    const auto at = facts.opcodes.find(name);
    return at == facts.opcodes.end() ? int64_t{0} : at->second;
  };
  CommonOperations found;
  for (const std::string& name : names) {
    if (std::ranges::find(without, name) != without.end()) continue;
    const int64_t in_a = count(a, name), in_b = count(b, name);
    found.same += std::min(in_a, in_b);
    found.all += std::max(in_a, in_b);
    found.of_a += in_a;
    found.of_b += in_b;
  }
  return found;
}

}  // namespace

CompilationFacts FactsOf(std::shared_ptr<const Module> shared) {
  CompilationFacts facts;
  const Module& module = *shared;
  for (InstructionId id : module.Parameters(module.entry_id()))
    facts.parameters.push_back(id.valid() ? hlo::ToString(module.shape(id), false) : "");
  std::set<std::string> lines;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const InstructionId id(k);
    ++facts.opcodes[std::string(hlo::ToString(module[id].opcode))];
    const hlo::SourceLine line = hlo::SourceLineOf(module, id);
    if (line.line > 0) lines.insert(fmt::format("{}:{}", line.file, line.line));
    const auto* of = module.Get<hlo::OpMetadata>(module[id], AttributeKey::kMetadata);
    if (of != nullptr && module[id].opcode != hlo::Opcode::kParameter &&
        !module[of->op_name].empty())
      facts.operations.emplace(module[of->op_name]);
  }
  const InstructionId root = module.entry().root;
  const auto* metadata = module.Get<hlo::OpMetadata>(module[root], AttributeKey::kMetadata);
  if (metadata != nullptr) {
    // jit(broadcast_in_dim)/broadcast_in_dim
    const std::string_view path = module[metadata->op_name];
    const std::string_view name = Before(Behind(path, "jit(").value_or(""), ")");
    facts.outside_jit = !name.empty() && path == fmt::format("jit({0})/{0}", name);
  }
  facts.lines.assign(lines.begin(), lines.end());
  facts.module = std::move(shared);
  return facts;
}

void AddOptions(std::string_view text, CompilationFacts& facts) {
  std::string key;  // of the entry of a map that comes next
  std::string path;
  while (!text.empty()) {
    const std::string_view line = Trimmed(Before(text, "\n"));
    text.remove_prefix(std::min(text.size(), Before(text, "\n").size() + 1));
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    std::string name(line.substr(0, colon));
    const std::string value(line.substr(colon + 2));
    if (name == "replica_device_ids") {
      if (!facts.devices.empty()) facts.devices += ' ';
      facts.devices += value;
      continue;
    }
    if (name == "key") {
      key = value;
      if (key.size() >= 2 && key.front() == '"') key = key.substr(1, key.size() - 2);
      continue;
    }
    if (name.ends_with("_field") && !key.empty()) name = std::exchange(key, {});
    // Propagation follows from the shardings of the arguments.
    if (name.starts_with("xla_dump") || name.starts_with("allow_spmd_sharding") ||
        name == "xla_detailed_logging" || name == "xla_enable_dumping" || name == "device_ordinal")
      continue;
    facts.options[name] = value;
  }
}

bool IsSameProgram(const CompilationFacts& a, const CompilationFacts& b) {
  std::vector<std::string> common;
  std::ranges::set_intersection(a.lines, b.lines, std::back_inserter(common));
  if (!common.empty()) return true;
  const bool told = !a.lines.empty() && !b.lines.empty();
  const CommonOperations found = CommonOf(a, b, {});
  // An operation outside of any function shows the line of its caller.
  return told ? found.same == found.all : found.are_most();
}

bool IsSameGraph(const CompilationFacts& a, const CompilationFacts& b) {
  constexpr std::string_view kData[] = {"parameter", "constant", "tuple", "get-tuple-element"};
  const CommonOperations found = CommonOf(a, b, kData);
  if (found.are_most()) return true;
  const bool has_more = found.same == found.of_a || found.same == found.of_b;
  return has_more && a.parameters.size() != b.parameters.size() &&
         ReasonOfCount(a, b) != RecompileReason::kArguments;
}

bool IsSameCluster(const CompilationFacts& a, const CompilationFacts& b) {
  // Arguments and results have names in common, "XLA_Args".
  constexpr size_t kMin = 3;
  return a.operations.size() >= kMin && a.operations == b.operations;
}

int64_t DistanceOf(const CompilationFacts& a, const CompilationFacts& b) {
  constexpr int64_t kStructure = 1000, kParameter = 10;
  int64_t distance = 0;
  const size_t most = std::max(a.parameters.size(), b.parameters.size());
  const size_t least = std::min(a.parameters.size(), b.parameters.size());
  distance += static_cast<int64_t>(most - least) * kStructure;
  for (size_t k = 0; k < least; ++k)
    distance += a.parameters[k] == b.parameters[k] ? 0 : kParameter;
  if (a.opcodes != b.opcodes) distance += kParameter;
  if (a.devices != b.devices) ++distance;
  if (a.options != b.options) ++distance;
  return distance;
}

RecompileCause CauseOf(const CompilationFacts& a, const CompilationFacts& b) {
  if (a.version != b.version && !a.version.empty() && !b.version.empty())
    return {RecompileReason::kVersion, "", a.version, b.version, ""};
  if (auto cause = ParameterCause(a, b)) return *cause;
  const hlo::ModuleHeader &x = a.module->header(), &y = b.module->header();
  if (x.num_partitions != y.num_partitions || x.replica_count != y.replica_count) {
    auto text = [](const hlo::ModuleHeader& h) {
      return fmt::format("{} in {}", Counted(h.num_partitions, "partition"),
                         Counted(h.replica_count, "replica"));
    };
    return {RecompileReason::kSharding, "", text(x), text(y), ""};
  }
  if (auto cause = BodyCause(*a.module, *b.module)) return *cause;
  if (a.devices != b.devices && !a.devices.empty() && !b.devices.empty()) return DeviceCause(a, b);
  std::set<std::string> names;
  if (!a.options.empty() && !b.options.empty()) {
    for (const auto& [name, value] : a.options) names.insert(name);
    for (const auto& [name, value] : b.options) names.insert(name);
  }
  std::optional<RecompileCause> cause;
  size_t more = 0;
  for (const std::string& name : names) {
    auto value = [&](const CompilationFacts& facts) {
      const auto at = facts.options.find(name);
      return at == facts.options.end() ? std::string("not set") : at->second;
    };
    if (value(a) == value(b)) continue;
    if (cause) {
      ++more;
    } else {
      cause = {RecompileReason::kFlag, name, value(a), value(b), ""};
    }
  }
  if (!cause) return {RecompileReason::kIdentical, "", "", "", ""};
  if (more > 0) cause->detail = fmt::format("and {}", Counted(more, "more flag"));
  return *cause;
}

}  // namespace hloscope::debug
