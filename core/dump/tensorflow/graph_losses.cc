// The table of fields, and names that no node has.
#include "core/dump/tensorflow/graph_losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>

#include "core/dump/tensorflow/graph_edges.h"

namespace hloscope::dump {
namespace {

constexpr GraphField kFields[] = {
#define GRAPH_FIELD(message, name, number, kind, inner, repeated) \
  {message, name, number, GraphFieldKind::kind, inner, repeated},
#include "core/dump/tensorflow/graph_fields.def"
#undef GRAPH_FIELD
};

std::span<const GraphField> FieldsOf(std::string_view message) {
  static const auto* const kMessages = [] {
    auto* messages = new std::unordered_map<std::string_view, std::span<const GraphField>>;
    for (const GraphField* at = std::begin(kFields); at != std::end(kFields);) {
      const GraphField* const first = at;
      while (at != std::end(kFields) && at->message == first->message) ++at;
      messages->emplace(first->message, std::span(first, at));
    }
    return messages;
  }();
  const auto found = kMessages->find(message);
  return found == kMessages->end() ? std::span<const GraphField>() : found->second;
}

template <typename Member, typename Value>
const GraphField* Find(std::string_view message, Member member, const Value& value) {
  const std::span<const GraphField> fields = FieldsOf(message);
  const auto found = std::ranges::find(fields, value, member);
  return found == fields.end() ? nullptr : &*found;
}

constexpr size_t kMax = 20;  // told of one graph

}  // namespace

const GraphField* FindGraphField(std::string_view message, std::string_view name) {
  return Find(message, &GraphField::name, name);
}
const GraphField* FindGraphField(std::string_view message, uint32_t number) {
  return Find(message, &GraphField::number, number);
}

std::string NamesOfGraphFields(std::string_view message) {
  constexpr size_t kMost = 6;
  const std::span<const GraphField> fields = FieldsOf(message);
  std::string names;
  for (size_t k = 0; k < std::min(fields.size(), kMost); ++k)
    names += fmt::format("{}{}", k == 0 ? "" : ", ", fields[k].name);
  return fields.size() > kMost ? names + ", …" : names;
}

std::string OpenGraphMessage::Add(const GraphField& field) {
  const bool again = std::ranges::find(seen_, field.number) != seen_.end();
  const bool first = seen_.empty();
  if (!again) seen_.push_back(field.number);
  if (again && !field.repeated) return fmt::format("{} of {} is duplicated", field.name, message_);
  // Its fields exclude one another.
  if (message_ == "AttrValue" && !again && !first) return "an attribute has two values";
  return {};
}

std::string OpenGraphMessage::Missing() const {
  const auto lacks = [&](std::string_view name) {
    const GraphField* field = FindGraphField(message_, name);
    return field != nullptr && std::ranges::find(seen_, field->number) == seen_.end();
  };
  if (message_ == "NodeDef" && lacks("name")) return "a node has no name";
  if (message_ == "NodeDef" && lacks("op")) return "a node has no op";
  if (message_ == "AttrEntry" && lacks("key")) return "an attribute has no key";
  if (message_ == "AttrEntry" && lacks("value")) return "an attribute has no value";
  if (message_ == "AttrValue" && seen_.empty()) return "an attribute has no value";
  if (message_ == "FunctionDef" && lacks("signature")) return "a function has no signature";
  if (message_ == kGraphMessage && lacks("versions"))
    return "the graph may be cut off: `versions`, which TensorFlow writes last, is missing";
  return {};
}

std::string GraphPlace::ToString() const {
  return byte < 0 ? fmt::format("line {}", line) : fmt::format("byte {}", byte);
}

void GraphLosses::Add(const GraphPlace& place, const std::string& what, std::string hint) {
  if (found_.size() >= kMax) {
    ++left_out_;
    return;
  }
  std::string message = place.byte < 0 ? "" : place.ToString() + ": ";
  if (!node_.empty()) message += fmt::format("node {}: ", node_);
  found_.push_back({ErrorClass::kInput,
                    message + what,
                    {.file = {}, .line = place.line, .column = place.column},
                    std::move(hint)});
}

void GraphLosses::Node(const std::string& name, const GraphPlace& place) {
  const auto [at, is_new] = scope().places.try_emplace(name, place);
  if (!is_new) Add(place, fmt::format("another node {} is at {}", name, at->second.ToString()));
}

void GraphLosses::Input(const std::string& node, std::string_view input, const GraphPlace& place) {
  scope().uses.push_back({node, std::string(ParseInput(input).node), place});
}

void GraphLosses::CheckUses(const Scope& scope) {
  for (const Use& use : scope.uses) {
    if (scope.places.contains(use.input)) continue;
    SetNode(use.node);
    Add(use.place, fmt::format("its input {} is not a node of the graph", use.input));
  }
  SetNode({});
}

void GraphLosses::EndFunction() {
  CheckUses(inner_);
  in_function_ = false;
}

std::vector<Error> GraphLosses::Finish() {
  CheckUses(outer_);
  if (left_out_ > 0)
    found_.push_back({ErrorClass::kInput, fmt::format("and {} more losses", left_out_), {}, {}});
  return std::move(found_);
}

}  // namespace hloscope::dump
