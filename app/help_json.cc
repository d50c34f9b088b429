// The table of commands and options as JSON.
#include "app/help_json.h"

#include <type_traits>

#include "app/help.h"
#include "core/base/json.h"

namespace hloscope::app {
namespace {

using Texts = std::vector<std::string>;

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {
  using Type = T;
};

template <typename T>
constexpr std::string_view TypeName() {
  if constexpr (IsOptional<T>::value) {
    return TypeName<typename IsOptional<T>::Type>();
  } else if constexpr (std::is_same_v<T, Texts>) {
    return "list";
  } else if constexpr (std::is_integral_v<T>) {
    return "integer";
  } else if constexpr (std::is_floating_point_v<T>) {
    return "number";
  } else {
    return "string";
  }
}

// flag, integer, number, string, or list of strings.
std::string_view TypeOf(const OptionSpec& spec) {
  if (spec.is_flag()) return "flag";
  return std::visit(
      [](const auto& target) -> std::string_view {
        return TypeName<std::remove_pointer_t<std::remove_cvref_t<decltype(target)>>>();
      },
      spec.target);
}

void Write(JsonWriter& json, std::string_view key, const Texts& texts) {
  json.Key(key).BeginArray();
  for (const std::string& text : texts) json.Value(text);
  json.EndArray();
}

void Write(JsonWriter& json, std::string_view key, const std::optional<int64_t>& number) {
  json.Key(key);
  if (number) {
    json.Value(*number);
  } else {
    json.Null();
  }
}

void WriteOption(JsonWriter& json, const OptionSpec& spec, const std::string& group) {
  json.BeginObject().Field("name", spec.name).Field("type", TypeOf(spec));
  json.Field("value", spec.value).Field("help", HelpOf(spec)).Field("group", group);
  json.Field("positional", spec.positional()).Field("required", spec.required);
  json.Field("after_dashes", spec.after_dashes).Field("commas", spec.commas);
  json.Field("path", TakesPath(spec)).Field("letter", spec.letter);
  Write(json, "choices", spec.choices);
  Write(json, "suggestions", spec.suggestions);
  Write(json, "needs", spec.needs);
  Write(json, "conflicts", spec.conflicts);
  Write(json, "actions", spec.actions);
  Write(json, "min", spec.min);
  Write(json, "max", spec.max);
  json.Field("positive", spec.positive).EndObject();
}

}  // namespace

std::string HelpJson(const CommandRow& row) {
  const std::unique_ptr<Command> command = row.make();
  CommonOptions common;
  const std::vector<OptionSpec> specs = AllOptions(*command, common);
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("command", row.name).Field("summary", row.summary);
  json.Field("usage", UsageLine(row, specs)).Key("options").BeginArray();
  std::string group;
  for (const OptionSpec& spec : specs) {
    if (!spec.group.empty()) group = spec.group;
    WriteOption(json, spec, group);
  }
  json.EndArray().Key("examples").BeginArray();
  for (std::string_view rest = row.examples; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    json.Value("hloscope " + std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  json.EndArray().EndObject();
  return out + "\n";
}

}  // namespace hloscope::app
