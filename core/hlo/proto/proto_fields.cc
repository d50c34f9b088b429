#include "core/hlo/proto/proto_fields.h"

#include <algorithm>
#include <vector>

namespace hloscope::hlo {
namespace {

constexpr FieldRow kFieldRows[] = {
#define MESSAGE_BEGIN(type, message_name) {message_name, {}, 0, FieldKind::kMessage},
#define FIELD(name, text, number, kind) {{}, text, number, FieldKind::k##kind},
#define MESSAGE_END()
#include "core/hlo/proto/proto_fields.def"
#undef MESSAGE_BEGIN
#undef FIELD
#undef MESSAGE_END
};

struct AttributeRow {
  std::optional<Opcode> opcode;
  AttributeKey key;
  int64_t absent;
  std::array<uint8_t, 3> path;
};

constexpr AttributeRow Row(std::optional<Opcode> opcode, AttributeKey key, int64_t absent,
                           uint8_t a, uint8_t b = 0, uint8_t c = 0) {
  return {opcode, key, absent, {a, b, c}};
}

constexpr int64_t kPresence = AttributeField::kPresence;
constexpr AttributeRow kAttributeRows[] = {
#define ATTRIBUTE_FIELD(key, absent, ...) Row(std::nullopt, AttributeKey::key, absent, __VA_ARGS__),
#define ATTRIBUTE_FIELD_OF(opcode, key, absent, ...) \
  Row(Opcode::opcode, AttributeKey::key, absent, __VA_ARGS__),
#include "core/hlo/proto/proto_attributes.def"
#undef ATTRIBUTE_FIELD
#undef ATTRIBUTE_FIELD_OF
};

std::vector<AttributeField> FieldsOf(Opcode opcode) {
  std::vector<AttributeField> fields;
  for (const AttributeUse& use : Info(opcode).attributes) {
    auto row = std::ranges::find_if(kAttributeRows, [&](const AttributeRow& r) {
      return r.key == use.key && (!r.opcode || *r.opcode == opcode);
    });
    if (row != std::end(kAttributeRows))
      fields.push_back({use.key, use.required, row->absent, row->path});
  }
  if (opcode == Opcode::kParameter) {
    fields.push_back({AttributeKey::kParameterNumber, true, 0, {9, 0, 0}});
  }
  if (opcode == Opcode::kConstant) {
    fields.push_back({AttributeKey::kConstantValue, true, AttributeField::kPresence, {8, 0, 0}});
  }
  std::ranges::stable_sort(fields, {}, &AttributeField::path);
  return fields;
}

}  // namespace

std::span<const FieldRow> FieldRows() { return kFieldRows; }

std::span<const AttributeField> AttributeFields(Opcode opcode) {
  static const std::vector<std::vector<AttributeField>> tables = [] {
    std::vector<std::vector<AttributeField>> all;
    all.reserve(kOpcodeCount);
    for (int i = 0; i < kOpcodeCount; ++i) all.push_back(FieldsOf(static_cast<Opcode>(i)));
    return all;
  }();
  return tables[static_cast<size_t>(opcode)];
}

}  // namespace hloscope::hlo
