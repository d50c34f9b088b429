// Line by line; what is no line of a compilation is passed over.
#include "core/debug/recompile/compile_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/counted.h"
#include "core/base/strings.h"
#include "core/debug/recompile/jax_log.h"
#include "core/debug/recompile/log_line.h"
#include "core/debug/recompile/tensorflow_log.h"
#include "core/debug/recompile/torch_log.h"
#include "core/debug/recompile/type_change.h"

namespace hloscope::debug {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view WithoutPrefix(std::string_view name,
                               std::initializer_list<std::string_view> prefixes) {
  for (std::string_view prefix : prefixes) {
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  }
  return name;
}

// How two texts of the log's own differ; nullopt where they do not.
std::optional<RecompileCause> Difference(const LoggedCompilation& a, const LoggedCompilation& b) {
  if (!a.has_types || !b.has_types) return std::nullopt;
  if (a.types.size() != b.types.size()) {
    return RecompileCause{RecompileReason::kArguments, "", Counted(a.types.size(), "array"),
                          Counted(b.types.size(), "array"), ""};
  }
  std::optional<RecompileCause> cause;
  int more = 0;
  for (size_t k = 0; k < a.types.size(); ++k) {
    if (a.types[k] == b.types[k]) continue;
    if (cause) {
      ++more;
      continue;
    }
    cause = CauseOfTypes(std::to_string(k), a.types[k], b.types[k]);
  }
  for (size_t k = 0; !cause && k < a.mapping.size() && k < b.mapping.size(); ++k) {
    if (a.mapping[k] == b.mapping[k]) continue;
    cause = CauseOfMapping(std::to_string(k), a.mapping[k], b.mapping[k]);
  }
  if (cause && more > 0) cause->detail = fmt::format("and {} more", more);
  return cause;
}

// The earlier compilation that fewest differences part from this one.
RecompileCause CauseInLog(const std::vector<const LoggedCompilation*>& earlier,
                          const LoggedCompilation& one) {
  if (one.cause) return *one.cause;
  for (auto at = earlier.rbegin(); at != earlier.rend(); ++at) {
    if (auto cause = Difference(**at, one)) return *cause;
  }
  if (one.new_function) return {RecompileReason::kFunction, "", "", "", ""};
  std::string note = one.note;
  if (note.empty() && one.has_types)
    note =
        "the arrays are the same; a flag, a device, a donation, a static argument or the "
        "function itself changed";
  if (note.empty()) note = "it says only that it was compiled again";
  return {RecompileReason::kUnknown, note, "", "", ""};
}

}  // namespace

std::string_view TraceName(std::string_view name) {
  name = name.substr(0, name.find("__Xla"));
  const size_t dot = name.rfind("__.");
  return dot != std::string_view::npos && std::ranges::all_of(name.substr(dot + 3), IsDigit)
             ? name.substr(0, dot)
             : name;
}

std::string ProgramName(std::string_view framework, std::string_view name) {
  if (framework == "JAX") {
    name = WithoutPrefix(name, {"jit_", "pjit_", "pmap_", "xmap_"});
    return name == "_lambda" || name == "_lambda_" ? "<lambda>" : std::string(name);
  }
  if (framework == "TensorFlow") {
    name = TraceName(name);
    if (name.starts_with("cluster_")) return std::string(name);
    name = WithoutPrefix(name, {"a_inference_", "__inference_", "__forward_", "__backward_"});
    return std::string(WithoutNumberSuffix(name));
  }
  if (framework == "PyTorch/XLA") {
    const size_t dot = name.find('.');
    if (dot != std::string_view::npos && dot + 1 < name.size() && IsDigit(name[dot + 1]))
      return std::string(name.substr(0, dot));
  }
  return std::string(name);
}

std::string ProgramKey(std::string_view framework, std::string_view name) {
  std::string key(framework);
  key += ' ';
  for (const char c : ProgramName(framework, name)) {
    const bool plain = IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (plain || key.back() != '_') key += plain ? c : '_';
  }
  while (key.ends_with('_')) key.pop_back();
  const size_t at = framework.size() + 1;
  if (key.size() > at && key[at] == '_') key.erase(at, 1);
  return key;
}

CompileLog ReadCompileLog(std::string_view text, std::string_view name) {
  CompileLog log;
  JaxLog jax(log, name);
  TensorFlowLog tensorflow(log, name);
  TorchLog torch(log, name);
  int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (jax.Take(line, number)) continue;
    if (tensorflow.Take(line, number)) continue;
    torch.Take(line, number);
  }
  jax.Finish();
  tensorflow.Finish();
  torch.Finish();
  return log;
}

Recompilations RecompilationsOf(const CompileLog& log) {
  Recompilations found;
  found.warnings = log.warnings;
  std::map<std::string, std::vector<const LoggedCompilation*>> seen;
  std::vector<std::string> order;
  for (const LoggedCompilation& one : log.compilations) {
    if (one.series.empty()) continue;
    auto& earlier = seen[one.series];
    if (earlier.empty()) order.push_back(one.series);
    earlier.push_back(&one);
  }
  for (size_t k = 0; k < order.size(); ++k) {
    const std::string& series = order[k];
    std::vector<const LoggedCompilation*> earlier;
    for (const LoggedCompilation* one : seen[series]) {
      // A log of causes alone may begin with one.
      if (!one->from_cache && !earlier.empty()) {
        Recompilation& again = found.list.emplace_back();
        again.framework = one->framework;
        again.series = k;
        again.program = one->program;
        again.cause = CauseInLog(earlier, *one);
        again.place = one->place;
        again.line = static_cast<int32_t>(one->line);
        again.compile_ms = one->compile_ms;
      }
      earlier.push_back(one);
    }
  }
  SumUp(found);
  return found;
}

}  // namespace hloscope::debug
