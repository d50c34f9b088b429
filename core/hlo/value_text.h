// Reading and printing the values that stand inside HLO text: shapes, literals, shardings, device
// lists. Each reader leaves the cursor after the value; each printer appends XLA's spelling.
#pragma once

#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/hlo/attribute.h"
#include "core/hlo/literal.h"
#include "core/hlo/shape.h"
#include "core/hlo/text_cursor.h"

namespace hloscope::hlo {

// `f32[8,<=128]{1,0:T(8,128)}`, `(f32[], token[])`, `b(f32[4])`. Layouts that are absent stay
// absent.
Parsed<Shape> ReadShape(TextCursor& cursor, const Limits& limits);
// {1,0:T(8,128)} alone.
Parsed<Layout> ReadLayout(TextCursor& cursor, const Limits& limits);

// The text between the parentheses of constant(): scalar, braces, tuple, or {...} (an elided
// literal). Without braces round a scalar of an array shape it is an error, except the forms XLA
// takes. Values are range-checked as XLA does.
Parsed<Literal> ReadLiteral(TextCursor& cursor, const Shape& shape, const Limits& limits);

// As XLA prints the operand of constant().
void AppendLiteral(std::string& out, const Literal& literal, bool elide_large);
// One element as XLA prints it (floats in the shortest form that reads back; nan payloads kept).
void AppendElement(std::string& out, const Literal& literal, int64_t index);

// The value after `sharding=`, braces included; V1, V2, V3 and tuples.
Parsed<Sharding> ReadSharding(TextCursor& cursor, const Limits& limits);
void AppendSharding(std::string& out, const Sharding& sharding, bool include_metadata = true);
// The value after `replica_groups=`.
Parsed<DeviceList> ReadDeviceList(TextCursor& cursor, const Limits& limits);
void AppendDeviceList(std::string& out, const DeviceList& list);

// A double as XLA prints it in attributes (shortest that reads back; `%.17g`-free).
void AppendDouble(std::string& out, double value);
// A string with C escapes, without quotes, as absl::CEscape.
void AppendEscaped(std::string& out, std::string_view text);

}  // namespace hloscope::hlo
