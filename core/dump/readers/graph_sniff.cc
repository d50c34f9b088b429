// A GraphDef has nodes with names and operations, which no other message of a dump has.
#include "core/dump/readers/graph_sniff.h"

#include <algorithm>

#include "core/hlo/proto/wire_reader.h"

namespace hloscope::dump {
namespace {

using hlo::AsBytes;
using hlo::AsVarint;
using hlo::WireField;
using hlo::WireReader;

bool IsPlainText(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= 0x20; });
}

bool IsOperation(std::string_view text) {
  auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '>' || c == '.';
  };
  return !text.empty() && std::ranges::all_of(text, is_word);
}

// Name and operation first, then inputs, a device and attributes: no other message of a dump does.
bool LooksLikeNode(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  bool name = false, operation = false;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(1))
      name = !field.bytes.empty() && IsPlainText(field.bytes);
    else if (field.tag == AsBytes(2))
      operation = IsOperation(field.bytes);
    else if (field.tag == AsBytes(3) || field.tag == AsBytes(4)) {
      if (!IsPlainText(field.bytes)) return false;
    } else if ((field.tag & 7) != 2 || field.number() > 7) {
      return false;
    }
  }
  return reader.ok() && name && operation;
}

}  // namespace

bool LooksLikeGraphWire(std::string_view bytes) {
  WireReader reader(bytes);
  WireField field;
  bool found = false;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(1)) {
      if (!LooksLikeNode(field.bytes)) return false;
      found = true;
      if (reader.Rest().size() < bytes.size() / 2) break;  // enough
    } else if (field.tag != AsBytes(2) && field.tag != AsVarint(3) && field.tag != AsBytes(4) &&
               field.tag != AsBytes(5)) {
      return false;
    }
  }
  return found;
}

}  // namespace hloscope::dump
