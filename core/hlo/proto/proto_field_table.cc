// The fields of an instruction by number, and which bytes are taken for which field.
#include "core/hlo/proto/proto_reader.h"

namespace hloscope::hlo {
namespace {

// For every field number of HloInstructionProto the tags its values may have; 0 for none.
struct Tags {
  std::array<uint32_t, FieldTable::kSize> first{}, second{};
};

constexpr uint32_t FirstTag(FieldKind kind, uint32_t number) {
  switch (kind) {
    case FieldKind::kInt:
    case FieldKind::kBool:
    case FieldKind::kEnum:
      return AsVarint(number);
    case FieldKind::kFloat:
      return AsFixed32(number);
    case FieldKind::kDouble:
      return AsFixed64(number);
    default:
      return AsBytes(number);
  }
}

constexpr uint32_t SecondTag(FieldKind kind, uint32_t number) {
  bool packable =
      kind == FieldKind::kInts || kind == FieldKind::kBools || kind == FieldKind::kEnums;
  return packable ? AsVarint(number) : 0;
}

const Tags& InstructionTags() {
  static const Tags tags = [] {
    Tags t;
    bool inside = false;
    for (const FieldRow& row : FieldRows()) {
      if (row.number == 0) inside = row.message == "HloInstructionProto";
      if (row.number == 0 || !inside) continue;
      t.first[row.number] = FirstTag(row.kind, row.number);
      t.second[row.number] = SecondTag(row.kind, row.number);
    }
    return t;
  }();
  return tags;
}

}  // namespace

void FieldTable::Clear() {
  present_.reset();
  taken_.reset();
  earlier_.clear();
}

bool FieldTable::ReadInner(std::string_view bytes) {
  Clear();
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    uint32_t type = field.tag & 7;
    if (field.number() >= kSize || (type != 0 && type != 2)) continue;
    Keep(field);
  }
  return reader.ok();
}

bool FieldTable::Read(std::string_view bytes, std::string& unknown) {
  const Tags& tags = InstructionTags();
  Clear();
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    uint32_t number = field.number();
    if (number >= kSize || (field.tag != tags.first[number] && field.tag != tags.second[number])) {
      unknown.append(field.raw);
      continue;
    }
    Keep(field);
  }
  return reader.ok();
}

std::string_view FieldTable::TakeMessage(uint32_t number) {
  const WireField* field = Take(number);
  if (field == nullptr) return {};
  if (earlier_.empty()) return field->bytes;
  std::string* together = nullptr;
  for (const WireField& earlier : earlier_) {
    if (earlier.number() != number) continue;
    if (together == nullptr) together = &merged_.emplace_back();
    together->append(earlier.bytes);
  }
  if (together == nullptr) return field->bytes;
  together->append(field->bytes);
  return *together;
}

bool FieldTable::TakeInts(uint32_t number, std::vector<int64_t>& values) {
  bool ok = true;
  ForEach(number, [&](const WireField& field) { ok &= AppendInts(field, values); });
  return ok;
}

void FieldTable::AppendRest(std::string& unknown) const {
  auto rest = present_ & ~taken_;
  if (rest.none()) return;
  for (const WireField& field : earlier_) {
    if (rest[field.number()]) unknown.append(field.raw);
  }
  for (uint32_t number = 0; number < kSize; ++number) {
    if (rest[number]) unknown.append(fields_[number].raw);
  }
}

}  // namespace hloscope::hlo
