// What stands on a node, and how large it is for that.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/graph/layout.h"
#include "core/graph/tree.h"

namespace hloscope::graph {

// Logical pixels of a node that is closed. Texts are set in a font whose characters are all as
// wide.
inline constexpr float kTitleSize = 14, kSubtitleSize = 12;  // of the font
inline constexpr float kCharacterWidth = 0.602f;             // of its size
inline constexpr float kNodeHeight = 44, kNodePadding = 12;  // padding left (stripe) and right
inline constexpr size_t kTitleColumns = 28, kSubtitleColumns = 34;

// `text` in at most `columns` columns, cut in the middle so that a number at the end is kept; as it
// is shown: valid UTF-8 without control characters.
std::string Elide(std::string_view text, size_t columns);
// The same cut at its end, but for the number of a name where there is room: "loop_add_f….12".
std::string ElideEnd(std::string_view text, size_t columns);
// Columns of a text as Elide returns it; wide East Asian characters count two.
size_t Columns(std::string_view text);

// What a call is beyond its opcode: kind of fusion, target of a custom call, direction of a
// comparison; empty: nothing.
std::string DetailOf(const hlo::Module& module, hlo::InstructionId id);

struct NodeText {
  std::string title, subtitle;
};
// The two lines of an instruction: name; opcode, shape and what else tells it from others.
NodeText TextOf(const hlo::Module& module, hlo::InstructionId id);
// The two lines of a node: name; opcode, shape and what else tells it from others.
NodeText TextOf(const Tree& tree, NodeId id);
// The same where only `count` instructions of a group are meant; 0: all.
NodeText TextOf(const Tree& tree, NodeId id, uint32_t count);

// What a node is called among scopes: a call by the function that it calls, as op_name has it.
std::string RowTitle(const Tree& tree, NodeId id);

// What is written on a node that has room for `columns` only: its title, cut where enough of it is
// left; else its opcode or how its fusion's name begins, or of a group how many instructions are in
// it; empty where nothing fits.
std::string TitleWithin(const Tree& tree, NodeId id, const NodeText& text, size_t columns);

// The size of a closed node with that text, and the width of one with a line of it.
FlatNode SizeOf(const NodeText& text);
float LineWidth(std::string_view title);

// "1.23 MB", "4.10 kB", "12 B": bytes for people, three digits of them.
std::string BytesText(int64_t bytes);
// "1.2 MFLOP": additions and multiplications for people.
std::string FlopsText(double flops);

}  // namespace hloscope::graph
