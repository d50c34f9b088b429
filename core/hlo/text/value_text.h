// Reading and printing the values that stand inside HLO text: shapes, literals, shardings, device
// lists. Each reader leaves the cursor after the value; each printer appends XLA's spelling.
#pragma once

#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "core/hlo/attribute.h"
#include "core/hlo/literal.h"
#include "core/hlo/shape.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {

// `f32[8,<=128]{1,0:T(8,128)}`, `(f32[], token[])`, `b(f32[4])`. Layouts that are absent stay
// absent.
Parsed<Shape> ReadShape(TextCursor& cursor, const Limits& limits);
// {1,0:T(8,128)} alone.
Parsed<Layout> ReadLayout(TextCursor& cursor, const Limits& limits);

// The text between the parentheses of constant(): scalar, braces, tuple, or {...} (an elided
// literal). As in XLA, one number without braces stands for an array that begins with it and goes
// on with zeros, commas inside braces may be missing, {1, ...} is elided too, and values are
// range-checked.
Parsed<Literal> ReadLiteral(TextCursor& cursor, const Shape& shape, const Limits& limits);

// As XLA prints the operand of constant(). `elide_large` writes {...} for tuples and for more than
// 10 elements. `exact` writes -0.0 and the smallest f8e8m0fnu so that they read back,
// which XLA's spelling of them does not.
void AppendLiteral(std::string& out, const Literal& literal, bool elide_large, bool exact = false);
// With the shape of every leaf before it: the value after `literal=`.
void AppendShapedLiteral(std::string& out, const Literal& literal, bool exact);
// One element as XLA prints it (floats in the shortest form that reads back; nan payloads kept).
void AppendElement(std::string& out, const Literal& literal, int64_t index);

// The value after `sharding=`, braces included; V1, V2, V3 and tuples.
Parsed<Sharding> ReadSharding(TextCursor& cursor, const Limits& limits);
void AppendSharding(std::string& out, const Sharding& sharding, bool include_metadata = true);
// The value after `replica_groups=`.
Parsed<DeviceList> ReadDeviceList(TextCursor& cursor, const Limits& limits);
void AppendDeviceList(std::string& out, const DeviceList& list);

// A double as XLA prints it in attributes: six digits (%g). `exact` writes as many as read back.
void AppendDouble(std::string& out, double value, bool exact = false);
// A string with C escapes, without quotes, as absl::CEscape.
void AppendEscaped(std::string& out, std::string_view text);

}  // namespace hloscope::hlo
