#include "profiler/formats/perfetto_annotations.h"

#include "core/hlo/proto/wire_reader.h"

namespace hloscope::profiler {
namespace {

using hlo::AsBytes;
using hlo::AsFixed64;
using hlo::AsVarint;
using hlo::WireField;
using hlo::WireReader;

constexpr uint64_t kOffsetBits = 40;
constexpr size_t kDeepestAnnotation = 32;

struct Interned {
  uint64_t id = 0;
  std::string_view text;
};
Interned ReadInterned(std::string_view message) {
  Interned interned;
  WireReader reader(message);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(1)) interned.id = field.value;
    if (field.tag == AsBytes(2)) interned.text = field.bytes;
  }
  return interned;
}

std::string_view FindText(const std::unordered_map<uint64_t, std::string>& table, uint64_t id) {
  auto found = table.find(id);
  return found == table.end() ? std::string_view() : found->second;
}

std::string_view NameOfAnnotation(std::string_view annotation, const PerfettoNames& names) {
  WireReader reader(annotation);
  WireField field;
  std::string_view name;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(1)) name = FindText(names.annotations, field.value);
    if (field.tag == AsBytes(10)) name = field.bytes;
  }
  return name;
}

// The value a field of a DebugAnnotation states; false where it states none.
bool ReadValue(const WireField& field, const PerfettoNames& names, Argument& argument) {
  switch (field.tag) {
    case AsVarint(2):
      argument.value = std::string(field.AsBool() ? "true" : "false");
      return true;
    case AsVarint(3):
    case AsVarint(7):
      argument.value = field.value;
      return true;
    case AsVarint(4):
      argument.value = field.AsInt64();
      return true;
    case AsFixed64(5):
      argument.value = hlo::DoubleFromBits(field.value);
      return true;
    case AsBytes(6):
    case AsBytes(9):
      argument.value = std::string(field.bytes);
      return true;
    case AsVarint(17):
      argument.value = std::string(FindText(names.values, field.value));
      return true;
    default:
      return false;
  }
}

// Dictionaries and lists become arguments of names with dots and numbers.
void ReadAnnotation(std::string_view annotation, const PerfettoNames& names,
                    std::vector<Argument>& out) {
  struct Part {
    WireReader reader;
    std::string path;
    size_t entries = 0;
  };
  std::vector<Part> open;
  open.push_back({WireReader(annotation), std::string(NameOfAnnotation(annotation, names))});
  WireField field;
  while (!open.empty()) {
    if (!open.back().reader.Next(field)) {
      open.pop_back();
      continue;
    }
    const bool is_entry = field.tag == AsBytes(11), is_element = field.tag == AsBytes(12);
    if ((is_entry || is_element) && open.size() < kDeepestAnnotation) {
      const std::string name = is_entry ? std::string(NameOfAnnotation(field.bytes, names))
                                        : std::to_string(open.back().entries++);
      open.push_back({WireReader(field.bytes), open.back().path + "." + name});
      continue;
    }
    Argument argument{open.back().path, std::string()};
    if (ReadValue(field, names, argument)) out.push_back(std::move(argument));
  }
}

}  // namespace

void PerfettoNames::Add(std::string_view interned, EventStoreBuilder& builder) {
  WireReader reader(interned);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(2) && field.tag != AsBytes(3) && field.tag != AsBytes(29)) continue;
    const Interned entry = ReadInterned(field.bytes);
    if (field.tag == AsBytes(2)) events.insert_or_assign(entry.id, builder.Name(entry.text));
    if (field.tag == AsBytes(3)) annotations.insert_or_assign(entry.id, std::string(entry.text));
    if (field.tag == AsBytes(29)) values.insert_or_assign(entry.id, std::string(entry.text));
  }
}

Operation OperationOfAnnotations(std::string_view event, const PerfettoNames& names,
                                 EventStoreBuilder& builder) {
  Operation operation;
  WireReader reader(event);
  WireField field, part;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(perfetto::event::kAnnotation)) continue;
    const std::string_view name = NameOfAnnotation(field.bytes, names);
    if (name != "hlo_op" && name != "hlo_module" && name != "program_id") continue;
    Argument argument;
    WireReader parts(field.bytes);
    while (parts.Next(part)) ReadValue(part, names, argument);
    const auto* text = std::get_if<std::string>(&argument.value);
    if (name == "hlo_op" && text != nullptr) operation.name = builder.Name(*text);
    if (name == "hlo_module" && text != nullptr) operation.module = builder.Name(*text);
    if (name != "program_id") continue;
    if (const auto* id = std::get_if<int64_t>(&argument.value)) operation.program = *id;
    if (const auto* id = std::get_if<uint64_t>(&argument.value))
      operation.program = static_cast<int64_t>(*id);
  }
  return operation;
}

std::vector<Argument> PerfettoArguments::Read(uint64_t where) const {
  std::vector<Argument> arguments;
  const size_t names = where >> kOffsetBits;
  if (names == 0 || names > names_.size()) return arguments;
  const uint64_t offset = where & ((uint64_t{1} << kOffsetBits) - 1);
  const bool is_read = bytes_->ReadFrom(offset, [&](std::string_view bytes) {
    WireReader reader(bytes);
    WireField event, field;
    if (!reader.Next(event)) return false;
    WireReader parts(event.bytes);
    while (parts.Next(field)) {
      if (field.tag == AsBytes(perfetto::event::kAnnotation))
        ReadAnnotation(field.bytes, *names_[names - 1], arguments);
    }
    return true;
  });
  if (!is_read) arguments = {{std::string(kArgumentsGone), std::string(kFileChanged)}};
  return arguments;
}

uint64_t PerfettoArguments::PlaceOf(size_t names, std::string_view event) const {
  const uint64_t offset = bytes_->OffsetOf(event);
  if (names >= (size_t{1} << (64 - kOffsetBits)) || offset >> kOffsetBits != 0) return 0;
  return uint64_t{names} << kOffsetBits | offset;
}

}  // namespace hloscope::profiler
