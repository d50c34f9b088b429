// Wordings: 0.4–0.6 "seen A, but now given B", 0.7 on "now B and before A".
#include "core/debug/recompile/jax_log.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/debug/recompile/log_line.h"
#include "core/debug/recompile/type_change.h"

namespace hloscope::debug {
namespace {

// "step" of "jit(step)", "pjit(step)" and "step".
std::string ProgramOf(std::string_view text) {
  for (std::string_view call : {"jit(", "pjit(", "pmap("}) {
    if (text.starts_with(call) && text.ends_with(')'))
      return std::string(text.substr(call.size(), text.size() - call.size() - 1));
  }
  return std::string(text);
}

// The elements of "(a, f(b, c), d)" or "[…]".
std::vector<std::string> Elements(std::string_view list) {
  std::vector<std::string> elements;
  if (list.empty() || (list.front() != '(' && list.front() != '[')) return elements;
  int depth = 0;
  size_t begin = 1;
  for (size_t at = 0; at < list.size(); ++at) {
    const char c = list[at];
    const bool closes = c == ')' || c == ']' || c == '}';
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ',' && depth == 1) || (closes && depth == 1)) {
      const std::string_view one = Trimmed(list.substr(begin, at - begin));
      if (!one.empty()) elements.emplace_back(one);
      begin = at + 1;
    }
    if (closes && --depth == 0) break;
  }
  return elements;
}

// "f32[8,16]" of "ShapedArray(float32[8,16], weak_type=True)", with {weak_type=True} behind it.
std::string TypeOf(std::string_view text) {
  if (auto inner = Behind(text, "ShapedArray(")) text = *inner;
  const bool weak = text.find("weak_type=True") != std::string_view::npos;
  const size_t end = text.find(']');
  if (end == std::string_view::npos) return std::string(text);
  return HloTypeText(text.substr(0, end + 1)) + (weak ? "{weak_type=True}" : "");
}

std::string_view Unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
      text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

// "n" of "[1]['n']" and "kwargs['n']", "argument 1" of "[0][1]" and "args[1]", with what is inside.
std::string PathText(std::string_view path) {
  const bool names = path.starts_with("[1]") || path.starts_with("kwargs");
  const bool positions = path.starts_with("[0]") || path.starts_with("args");
  if (!names && !positions) return std::string(path);
  std::string_view rest = path.substr(path.starts_with('[') ? 3 : names ? 6 : 4);
  if (rest.empty()) return names ? "keyword arguments" : "positional arguments";
  const size_t end = rest.find(']');
  if (!rest.starts_with('[') || end == std::string_view::npos) return std::string(path);
  const std::string_view first = Unquoted(rest.substr(1, end - 1));
  return fmt::format("{}{}{}", names ? "" : "argument ", first, rest.substr(end + 1));
}

// "dict with 1 child" of "<class 'dict'> with 1 child".
std::string NodeText(std::string_view node) {
  if (auto rest = Behind(node, "<class '")) {
    const size_t end = rest->find("'>");
    if (end != std::string_view::npos)
      return std::string(rest->substr(0, end)) + std::string(rest->substr(end + 2));
  }
  return std::string(node);
}

// The key that `{n: 3}` or `{'n'}` names first.
std::string FirstKey(std::string_view text) {
  const size_t open = text.find('{');
  if (open == std::string_view::npos) return {};
  return std::string(
      Unquoted(Trimmed(text.substr(open + 1, text.find_first_of(":,}") - open - 1))));
}

}  // namespace

std::string HloTypeText(std::string_view type) {
  static constexpr std::array<std::array<std::string_view, 2>, 11> kNames = {{{"float", "f"},
                                                                              {"bfloat", "bf"},
                                                                              {"complex", "c"},
                                                                              {"uint", "u"},
                                                                              {"int", "s"},
                                                                              {"i8[", "s8["},
                                                                              {"i16[", "s16["},
                                                                              {"i32[", "s32["},
                                                                              {"i64[", "s64["},
                                                                              {"i4[", "s4["},
                                                                              {"bool[", "pred["}}};
  for (const auto& [from, to] : kNames) {
    if (!type.starts_with(from)) continue;
    std::string name = std::string(to) + std::string(type.substr(from.size()));
    if (name.starts_with("f8_")) name.erase(2, 1);  // float8_e4m3fn
    return name;
  }
  return std::string(type);
}

void JaxLog::Warn(int64_t line, std::string_view what) {
  log_.warnings.push_back(fmt::format("{}:{}: {}", name_, line, what));
}

bool JaxLog::Take(std::string_view line, int64_t number) {
  if (auto rest = Behind(line, "TRACING CACHE MISS at ")) {
    EndMiss();
    miss_.line = number;
    std::string_view place = Before(*rest, " (");
    place = Before(Before(place, " because"), " costing");
    while (place.ends_with(':')) place.remove_suffix(1);
    miss_.place = place;
    part_ = Part::kHead;
    return true;
  }
  const auto compiling = Behind(line, "Compiling ");
  if (compiling && compiling->find(" with global shapes and types ") != std::string_view::npos) {
    EndMiss();
    TakeCompiling(*compiling, number);
    return true;
  }
  if (auto rest = Behind(line, "Persistent compilation cache hit for '")) {
    const std::string key = ProgramKey("JAX", Before(*rest, "'"));
    for (size_t k = log_.compilations.size(); k-- > 0;) {
      if (log_.compilations[k].key != key) continue;
      log_.compilations[k].from_cache = true;
      break;
    }
    return true;
  }
  if (line.find("PERSISTENT COMPILATION CACHE ") != std::string_view::npos ||
      line.find(" to persistent compilation cache ") != std::string_view::npos)
    return true;
  if (auto rest = Behind(line, "Finished XLA compilation of ")) {
    EndMiss();
    TakeFinished(*rest, number);
    return true;
  }
  if (line.find("Finished tracing") != std::string_view::npos ||
      line.find("Finished jaxpr to MLIR") != std::string_view::npos) {
    EndMiss();
    return true;
  }
  if (part_ != Part::kNone && TakeMiss(line)) return true;
  // Words of a record whose beginning is damaged.
  for (std::string_view mark :
       {"CACHE MISS at ", " with global shapes and types ",
        ". Argument mapping: ", "all previously seen cache keys", "XLA compilation of jit("}) {
    if (line.find(mark) == std::string_view::npos) continue;
    Warn(number, "an unreadable line about a compilation");
    return true;
  }
  return false;
}

bool JaxLog::TakeMiss(std::string_view line) {
  const std::string_view text = Trimmed(line);
  auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  if (text.starts_with("never seen function")) {
    miss_.never_seen = true;
    part_ = Part::kFunction;
  } else if (has(" id=") && part_ == Part::kFunction) {
    miss_.program = Before(text, " id=");
    miss_.defined = Behind(text, " defined at ").value_or("");
  } else if (has("seen another function defined on the same line")) {
    miss_.seen_at_place = true;
  } else if (text.starts_with("for ") && miss_.program.empty()) {
    miss_.program = Before(text.substr(4), " defined at ");
    miss_.defined = Behind(text, " defined at ").value_or("");
  } else if (has("racing context")) {
    part_ = Part::kContext;
    if (!miss_.told)
      Tell({RecompileReason::kFlag, "", "", "", "a configuration or context manager of JAX"});
    miss_.told = false;  // a line that names it is better
    miss_.more = 0;
  } else if (has("input pytree")) {
    part_ = Part::kTree;
  } else if (has("input types") || has("input type signature")) {
    part_ = Part::kTypes;
  } else if (has("static args") || has("static kwargs")) {
    part_ = Part::kStatic;
  } else if (has("static_argnums")) {
    Tell({RecompileReason::kStatic, "static_argnums", "", "", ""});
  } else if (has("never seen passing") || has("number of args and kwargs")) {
    part_ = Part::kKeywords;
    Tell({RecompileReason::kArguments, "", "", "", std::string(text)});
  } else if (text.starts_with("* ") || (text.starts_with("now ") && part_ == Part::kStatic)) {
    TakeDifference(text);
  } else if (!text.empty() && line.front() != ' ' && !text.starts_with("where ") &&
             !text.starts_with("weak_type=") && !text.starts_with("See ") &&
             !text.starts_with("https://")) {
    EndMiss();  // a line of somebody else
    return false;
  }
  return true;
}

void JaxLog::TakeDifference(std::string_view text) {
  if (text.starts_with("* key with ")) {
    part_ = Part::kTypes;
    return;
  }
  std::string_view argument, from, to;
  if (text.starts_with("* ")) text.remove_prefix(2);
  if (text.starts_with("at ")) {
    text.remove_prefix(3);
    if (text.starts_with("input path ")) text.remove_prefix(11);
    const bool old = text.find(", seen ") != std::string_view::npos;
    argument = Before(text, old ? ", seen " : ", now ");
  } else if (part_ == Part::kContext) {
    argument = Before(text, " differs");
  }
  if (auto seen = Behind(text, "seen ")) {
    from = Before(*seen, ", but now given ");
    to = Behind(*seen, ", but now given ").value_or("");
  } else if (auto now = Behind(text, "now ")) {
    to = Before(*now, " and before ");
    from = Before(Behind(*now, " and before ").value_or(""), ", so ");
  }
  to = Before(to, ", so ");
  to = Before(to, ",      so ");
  from = Before(from, "https://");
  if (to.empty()) {
    Warn(miss_.line, "the line of this cache miss that should say what changed cannot be read");
    return;
  }
  switch (part_) {
    case Part::kContext:
      Tell({RecompileReason::kFlag, std::string(argument), std::string(from), std::string(to), ""});
      break;
    case Part::kStatic: {
      std::string key = FirstKey(to);
      Tell({RecompileReason::kStatic, key, std::string(from), std::string(to), ""});
      break;
    }
    case Part::kTree: {
      const std::string path = PathText(argument);
      RecompileCause cause{RecompileReason::kArguments, path, NodeText(from), NodeText(to), ""};
      // A static argument is a leaf of the tree: …Static(val=2).
      const auto before = Behind(from, "Static(val="), now = Behind(to, "Static(val=");
      auto value = [](std::string_view v) {
        return std::string(v.ends_with(')') ? v.substr(0, v.size() - 1) : v);
      };
      if (before && now) cause = {RecompileReason::kStatic, path, value(*before), value(*now), ""};
      if (cause.reason == RecompileReason::kStatic && path.starts_with("argument "))
        cause.argument.erase(0, 9);
      if (auto keys = Behind(text, "difference of key sets: "))
        cause.detail = "other keys: " + std::string(*keys);
      Tell(std::move(cause));
      break;
    }
    default:
      Tell(CauseOfTypes(std::string(argument), from, to));
  }
}

void JaxLog::Tell(RecompileCause cause) {
  if (miss_.told) {
    ++miss_.more;
    return;
  }
  miss_.told = true;
  miss_.cause = std::move(cause);
}

void JaxLog::EndMiss() {
  if (part_ == Part::kNone) return;
  part_ = Part::kNone;
  Miss miss = std::exchange(miss_, {});
  if (miss.program.empty()) {
    Warn(miss.line, "a cache miss that names no function");
    return;
  }
  if (!miss.defined.empty()) {
    defined_[miss.program] = miss.defined;
    const bool is_new = seen_.insert(miss.program + ' ' + miss.defined).second;
    if (miss.never_seen && !is_new) miss.seen_at_place = true;
  }
  if (miss.more > 0) {
    if (!miss.cause.detail.empty()) miss.cause.detail += ", ";
    miss.cause.detail += fmt::format("and {} more", miss.more);
  }
  if (!miss.told && miss.seen_at_place) miss.cause = {RecompileReason::kFunction, "", "", "", ""};
  if (!miss.told && !miss.never_seen && miss.cause.reason == RecompileReason::kUnknown)
    Warn(miss.line, "a cache miss without a reason that is understood");
  alone_.push_back(miss);
  misses_[miss.program] = std::move(miss);
}

LoggedCompilation JaxLog::Started(const std::string& program, int64_t line) {
  LoggedCompilation one;
  one.framework = "JAX";
  one.program = program;
  one.key = one.series = ProgramKey(one.framework, program);
  if (auto at = defined_.find(program); at != defined_.end()) one.series += ' ' + at->second;
  one.line = line;
  return one;
}

void JaxLog::TakeCompiling(std::string_view rest, int64_t number) {
  compiles_ = true;
  std::string_view name = Before(rest, " with global shapes and types ");
  if (name.ends_with(" for")) name.remove_suffix(4);
  LoggedCompilation one = Started(ProgramOf(name), number);
  const std::string_view types = *Behind(rest, " with global shapes and types ");
  for (const std::string& type : Elements(types)) one.types.push_back(TypeOf(type));
  one.has_types = types.starts_with('(') || types.starts_with('[');
  if (auto mapping = Behind(types, "Argument mapping: ")) one.mapping = Elements(*mapping);
  if (!one.has_types) Warn(number, "a compilation whose types of arguments cannot be read");
  if (auto miss = misses_.find(one.program); miss != misses_.end()) {
    one.place = miss->second.place;
    one.new_function = miss->second.seen_at_place;
    if (miss->second.told || miss->second.seen_at_place) one.cause = miss->second.cause;
    misses_.erase(miss);
  }
  last_[one.program] = log_.compilations.size();
  log_.compilations.push_back(std::move(one));
}

void JaxLog::TakeFinished(std::string_view rest, int64_t number) {
  const std::string program = ProgramOf(Before(rest, " in "));
  const auto seconds = LeadingNumber(Behind(rest, " in ").value_or(""));
  const auto last = last_.find(program);
  if (!seconds) {
    Warn(number, "a compilation whose time cannot be read");
  } else if (last == last_.end()) {
    Warn(number, "the end of a compilation of `" + program + "` that does not begin in the log");
  } else {
    size_t at = last->second;
    if (log_.compilations[at].compile_ms >= 0) {
      // Lowered before: only the end of this one is in the log.
      LoggedCompilation again = log_.compilations[at];
      again.cause.reset();
      again.new_function = again.from_cache = false;
      again.place.clear();
      again.line = number;
      at = last->second = log_.compilations.size();
      log_.compilations.push_back(std::move(again));
    }
    log_.compilations[at].compile_ms = std::round(*seconds * 1e6) / 1e3;
  }
}

void JaxLog::Finish() {
  EndMiss();
  if (compiles_) return;
  for (Miss& miss : alone_) {
    LoggedCompilation one = Started(miss.program, miss.line);
    if (!miss.defined.empty()) one.series = one.key + ' ' + miss.defined;
    one.place = miss.place;
    one.is_compilation = false;
    one.new_function = miss.seen_at_place;
    if (miss.told || miss.seen_at_place) one.cause = std::move(miss.cause);
    log_.compilations.push_back(std::move(one));
  }
}

}  // namespace hloscope::debug
