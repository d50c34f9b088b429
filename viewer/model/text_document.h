// TextDocument: text of any size as lines, for a view that shows only those in sight. No copy of
// the text is made.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/file.h"
#include "core/base/result.h"
#include "core/dump/listing/sniff.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

class TextDocument {
 public:
  // Counts the lines; stops with an error when asked to.
  static Result<std::shared_ptr<const TextDocument>> Make(FileView file, dump::FileKind kind,
                                                          const std::stop_token& stop);

  const std::string& path() const { return file_.path(); }
  dump::FileKind kind() const { return kind_; }
  std::string_view bytes() const { return file_.bytes(); }
  int64_t lines() const { return static_cast<int64_t>(starts_.size()); }
  // Line `number` (counts from 0) without its break; empty beyond the end.
  std::string_view Line(int64_t number) const;
  // The line of a byte, counted from 0.
  int64_t LineAt(size_t offset) const;
  // The longest line, in bytes.
  size_t longest() const { return longest_; }

  // The line (counts from 0) that defines an instruction or begins a computation of HLO text; -1:
  // none.
  int64_t FindDefinition(std::string_view name) const;

  // The next line that holds `what` at or after `from` (before it when going up), around the end;
  // -1: none. ASCII letters match in both cases unless `what` has a capital one.
  int64_t FindText(std::string_view what, int64_t from, bool up, const std::stop_token& stop) const;

 private:
  TextDocument(FileView file, dump::FileKind kind) : file_(std::move(file)), kind_(kind) {}

  FileView file_;
  dump::FileKind kind_;
  std::vector<uint64_t> starts_;  // of each line
  size_t longest_ = 0;
};

// A file of the dump, or a stage of a module.
struct TextKey {
  using Value = TextDocument;
  int32_t file = -1, module = -1, stage = -1;
  auto operator<=>(const TextKey&) const = default;
};
const Pending<TextDocument>& TextOfFile(Context& context, int32_t file);

// The position of `what` in a line at or after `from`, by the rule of FindText; npos: nowhere.
size_t FindInLine(std::string_view line, std::string_view what, size_t from);

}  // namespace hloscope::viewer
