// Lines of TensorFlow's log of clustering that lost bytes: how whole ones look, and what gives
// damaged ones away.
#pragma once

#include <cstddef>
#include <string_view>

namespace hloscope::dump {

// The files of TensorFlow that log what its marking pass does, as they stand in a line.
inline constexpr std::string_view kMarkingFiles[] = {
    "mark_for_compilation_pass.cc:", "compilability_check_util.cc:", "dump_graph.cc:"};
// How often they stand in a line.
size_t MarkingFilesIn(std::string_view line);

bool IsDecimal(char c);
bool IsFileName(std::string_view text);

// Whether `head` ends as what stands before the name of a file does:
// "I0000 00:00:1795681860.187503   32512 ", or before TensorFlow 2.19
// "2026-11-26 08:35:14.583123: I tensorflow/compiler/jit/".
bool EndsAsFrame(std::string_view head);
// How many files a line names as its source, "dump_graph.cc:245] ".
size_t SourcesOf(std::string_view line);

// Whether a message begins as one that tells of nodes does but for a few letters, or as half of one
// does.
bool NearlyBegins(std::string_view text);
// Whether the reason that a message gives holds the end of another message: two lines that became
// one.
bool HoldsAnother(std::string_view reason);
// Whether it is whole: what a node that cannot be compiled lacks, and why an edge stays.
bool IsWholeReason(std::string_view reason, std::string_view operation);
bool IsWholeEdgeReason(std::string_view reason);
// Of nodes and operations: without blanks, brackets and bytes that are no ASCII.
bool IsTensorFlowName(std::string_view text);
// "4 / 10 (40.00%)"
bool IsShare(std::string_view text);
// Whether a last line without an end breaks off in the name of a file that logs them.
bool EndsInFileName(std::string_view line);
// Whether a line ends before the file that logs it is named.
bool BreaksOffInFrame(std::string_view line);
// "I0000", what a line of a log begins with; empty where it begins otherwise. (With a date, as
// before TensorFlow 2.19, lines of Python's logs begin, too.)
std::string_view DayOf(std::string_view line);
// Whether a line that begins as those of `day` do goes on as none of a log.
bool BeginsAsDamagedFrame(std::string_view line, std::string_view day);
// Whether words of such messages are in it.
bool HasMarkingWords(std::string_view text);
// Whether half of the name of a file that logs them is in it.
bool NamesHalfOfFile(std::string_view line);
// Whether a line that names none of those files whole is a damaged one of theirs.
bool IsDamagedLine(std::string_view line);

}  // namespace hloscope::dump
