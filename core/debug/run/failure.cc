#include "core/debug/run/failure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "core/base/counted.h"
#include "core/hlo/index_text.h"

namespace hloscope::debug {
namespace {

// Relative errors from here on are no matter of rounding in any type.
constexpr double kGrossError = 0.01;
constexpr std::string_view kSlight = "slight";

std::string_view TypeClass(hlo::ElementType type) {
  switch (hlo::Info(type).kind) {
    case hlo::ElementKind::kPred:
      return "pred";
    case hlo::ElementKind::kSigned:
    case hlo::ElementKind::kUnsigned:
      return "integer";
    case hlo::ElementKind::kFloat:
      return "float";
    case hlo::ElementKind::kComplex:
      return "complex";
    case hlo::ElementKind::kNone:
      return "token";
  }
  return "token";
}

// One word for how two arrays differ.
std::string ClassOf(const LeafComparison& leaf) {
  const std::string_view type = TypeClass(leaf.shape.element_type());
  if (!leaf.problem.empty()) return fmt::format("{} of another shape", type);
  const std::pair<int64_t, std::string_view> one_sided[] = {
      {leaf.nan.actual, "nan in the result"},
      {leaf.nan.expected, "nan in the reference"},
      {leaf.inf.actual, "infinity in the result"},
      {leaf.inf.expected, "infinity in the reference"},
      {leaf.inf_mismatched, "infinities of other signs"},
  };
  for (const auto& [count, what] : one_sided) {
    if (count > 0) return fmt::format("{} {}", type, what);
  }
  if (type == "integer" || type == "pred") return std::string(type);
  return fmt::format("{} {}", type, leaf.max_rel_error < kGrossError ? kSlight : "gross");
}

std::string Describe(const LeafComparison& leaf) {
  std::string text = fmt::format("result {} differs in {} of {}", hlo::ShapeIndexText(leaf.index),
                                 leaf.mismatched, Counted(leaf.elements, "element"));
  if (!leaf.problem.empty()) text = leaf.problem;
  if (leaf.first_mismatch) {
    text +=
        fmt::format(": {} at {}, expected {}", leaf.first_mismatch->actual,
                    hlo::ArrayIndexText(leaf.first_mismatch->index), leaf.first_mismatch->expected);
  }
  return text;
}

bool Add(const LeafComparison& leaf, std::set<std::string>& classes, std::string& text) {
  if (leaf.equal()) return false;
  if (text.empty()) text = Describe(leaf);
  classes.insert(ClassOf(leaf));
  return true;
}

std::optional<Failure> Difference(const RunReport& report) {
  std::set<std::string> classes;
  std::string text;
  int64_t compared = 0, differing = 0;
  for (const RunOutput& output : report.outputs) {
    if (!output.compared) continue;
    ++compared;
    if (Add(output.comparison, classes, text)) ++differing;
  }
  // The text is of the first.
  if (differing > 1) text = fmt::format("{} of {} results differ; {}", differing, compared, text);
  if (classes.empty() && report.first_divergent) {
    for (const LeafComparison& leaf : report.first_divergent->outputs) Add(leaf, classes, text);
    if (!text.empty()) text = fmt::format("{}: {}", report.first_divergent->instruction, text);
  }
  if (classes.empty() && report.repeat && report.repeat->differing_run) {
    classes.insert("runs on the same inputs");
    text = "runs on the same inputs differ";
  }
  if (classes.empty()) return std::nullopt;
  return Failure{FailureKind::kDiffers, {classes.begin(), classes.end()}, std::move(text)};
}

std::optional<Failure> NonFiniteFailure(const RunReport& report) {
  if (!report.first_nonfinite) return std::nullopt;
  const NonFinite& found = *report.first_nonfinite;
  const std::string_view what = found.kind == NonFiniteKind::kNan ? "nan" : "infinity";
  const std::string maker = found.on_arrival ? "an input or a constant" : found.opcode;
  const bool is_inside = !found.path.empty();
  return Failure{FailureKind::kNan,
                 {fmt::format("{} of {}", what, maker)},
                 fmt::format("{} holds {}", found.instruction, found.value),
                 is_inside ? found.path.front().instruction : found.instruction,
                 is_inside ? found.path.front().iteration : std::nullopt};
}

std::optional<Failure> CheckFailure(const RunReport& report) {
  if (report.checks.empty()) return std::nullopt;
  std::set<std::string> kinds;
  for (const replay::RunFinding& finding : report.checks) kinds.insert(finding.kind);
  const replay::RunFinding& first = report.checks[0];
  return Failure{FailureKind::kCheck,
                 {kinds.begin(), kinds.end()},
                 fmt::format("{}: {} in {}", first.kind, first.what, first.instruction)};
}

bool IsPartOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

// "fusion.12" is "fusion", "0x7f00" and "12" are "#", "f32" is "f#".
std::string WordFingerprint(std::string_view word) {
  std::string out;
  for (const char c : word) {
    const bool digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!digit) out += c;
    if (digit && !out.ends_with('#')) out += '#';
  }
  if (out.starts_with("#x")) return "#";
  for (const std::string_view tail : {".#", "-#", "_#"}) {
    while (out.size() > tail.size() && out.ends_with(tail)) out.resize(out.size() - tail.size());
  }
  const bool number =
      std::ranges::all_of(out, [](char c) { return c == '#' || c == '.' || c == '-' || c == 'e'; });
  return number && out.contains('#') ? "#" : out;
}

FailureKind KindOf(const Error& error) {
  switch (error.error_class) {
    case ErrorClass::kCrashed:
      return FailureKind::kSignal;
    case ErrorClass::kDeadlineExceeded:
      return FailureKind::kDeadline;
    case ErrorClass::kResourceExhausted:
      return FailureKind::kMemory;
    case ErrorClass::kDeadlock:
      return FailureKind::kDeadlock;
    default:
      return FailureKind::kError;
  }
}

bool IsCancelled(const Error& error) { return error.error_class == ErrorClass::kCancelled; }

std::vector<std::string_view> NamesOf(const hlo::Module* module) {
  std::vector<std::string_view> names;
  if (module == nullptr) return names;
  names.push_back(module->name());
  for (const hlo::Computation& c : module->computations()) names.push_back((*module)[c.name]);
  for (const hlo::Instruction& i : module->instructions()) {
    // What is called as its opcode may stand in a text as the opcode.
    const std::string_view name = (*module)[i.name];
    if (name != hlo::ToString(i.opcode)) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

bool HasInstruction(const hlo::Module* module, std::string_view name) {
  return module != nullptr && std::ranges::any_of(module->instructions(), [&](const auto& i) {
           return (*module)[i.name] == name;
         });
}

// "the pjrt:FILE worker was killed …" is "worker was killed …": where a plugin lies does not
// matter.
std::string_view WithoutPlatform(std::string_view text) {
  constexpr std::string_view kWorker = "worker ";
  const size_t at = text.find(kWorker);
  const size_t space = text.find(' ', text.find(' ') + 1);
  return text.starts_with("the ") && at != text.npos && at == space + 1 ? text.substr(at) : text;
}

Failure FailureOfError(const Error& error, const hlo::Module* module) {
  Failure failure{KindOf(error), {}, error.ToString()};
  std::string fingerprint;
  if (failure.kind != FailureKind::kDeadline && failure.kind != FailureKind::kMemory) {
    // Compilers tell in further lines what they were at.
    std::string_view first = WithoutPlatform(error.message);
    first = first.substr(0, first.find('\n'));
    // Nobody says anything of a bad access, but for a check that failed before: what else stands
    // there was printed by the way.
    constexpr std::string_view kBadAccess = "(SIGSEGV)";
    const size_t at = first.find(kBadAccess);
    if (at != first.npos && !first.contains("Check failed")) {
      first = first.substr(0, first.find(':', at));
    }
    // "NAME: what …": the name does not count, also where it is the opcode's.
    const std::string_view subject = first.substr(0, first.find(": "));
    const bool named = HasInstruction(module, subject);
    fingerprint = (named ? "#" : "") +
                  ErrorFingerprint(named ? first.substr(subject.size()) : first, NamesOf(module));
  } else {
    // The platform and how far it came, where a worker says so.
    const size_t at = error.message.rfind(" at ");
    if (at != std::string::npos && error.message.ends_with(')')) {
      fingerprint = error.message.substr(at + 1, error.message.size() - at - 2);
    }
  }
  failure.classes.push_back(std::move(fingerprint));
  return failure;
}

}  // namespace

std::string_view ToString(FailureKind kind) {
  static constexpr std::string_view kTexts[] = {
      "differs", "nan", "check", "signal", "deadline", "memory", "deadlock", "error", "script"};
  static_assert(std::size(kTexts) == static_cast<size_t>(FailureKind::kScript) + 1);
  return kTexts[static_cast<size_t>(kind)];
}

std::optional<ErrorClass> ErrorClassOf(FailureKind kind) {
  switch (kind) {
    case FailureKind::kSignal:
      return ErrorClass::kCrashed;
    case FailureKind::kDeadline:
      return ErrorClass::kDeadlineExceeded;
    case FailureKind::kMemory:
      return ErrorClass::kResourceExhausted;
    case FailureKind::kDeadlock:
      return ErrorClass::kDeadlock;
    default:
      return std::nullopt;
  }
}

std::string Failure::fingerprint() const {
  const std::string all = fmt::format("{}", fmt::join(classes, "; "));
  return all.empty() ? std::string(ToString(kind)) : fmt::format("{}: {}", ToString(kind), all);
}

std::string ErrorFingerprint(std::string_view text, const std::vector<std::string_view>& names) {
  constexpr size_t kMaxBytes = 400;
  std::string out;
  const auto append = [&](std::string_view piece) {
    const bool repeats = piece == "#" && out.ends_with("#");
    if (!repeats) out += piece;
  };
  for (size_t at = 0; at < text.size() && out.size() < kMaxBytes;) {
    const char c = text[at];
    const size_t close = c == '[' ? text.find(']', at) : c == '{' ? text.find('}', at) : text.npos;
    if (close != text.npos) {
      out += c == '[' ? "[]" : "";
      at = close + 1;
      continue;
    }
    if (!IsPartOfName(c)) {
      const bool repeats = c == ' ' && out.ends_with(' ');  // numbers are padded
      if (!repeats) out += c;
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && IsPartOfName(text[end])) ++end;
    while (end > at + 1 && (text[end - 1] == '.' || text[end - 1] == '-')) --end;
    const std::string_view word = text.substr(at, end - at);
    const bool named = out.ends_with('%') || std::ranges::binary_search(names, word);
    append(named ? std::string("#") : WordFingerprint(word));
    at = end;
  }
  return out;
}

std::optional<Failure> FailureOf(const RunReport& report, const hlo::Module* module) {
  if (report.error) {
    if (IsCancelled(*report.error)) return std::nullopt;
    return FailureOfError(*report.error, module);
  }
  if (auto difference = Difference(report)) return difference;
  if (auto nonfinite = NonFiniteFailure(report)) return nonfinite;
  if (auto check = CheckFailure(report)) return check;
  for (const RunOutput& output : report.outputs) {
    if (output.missing && !IsCancelled(*output.missing)) {
      return FailureOfError(*output.missing, module);
    }
  }
  return std::nullopt;
}

Failure ScriptFailure(std::string_view script) {
  return {FailureKind::kScript, {}, fmt::format("{} still exits with 0", script)};
}

bool IsSameFailure(const Failure& failure, const Failure& smaller) {
  if (failure.kind != smaller.kind) return false;
  if (failure.classes == smaller.classes) return true;
  return std::ranges::any_of(smaller.classes, [&](const std::string& one) {
    return std::ranges::binary_search(failure.classes, one);
  });
}

bool IsNoOtherFailure(const Failure& failure, const Failure& smaller) {
  if (!IsSameFailure(failure, smaller)) return false;
  if (failure.kind != FailureKind::kDiffers) return true;
  return std::ranges::all_of(smaller.classes, [&](const std::string& one) {
    return one.ends_with(kSlight) || std::ranges::binary_search(failure.classes, one);
  });
}

}  // namespace hloscope::debug
