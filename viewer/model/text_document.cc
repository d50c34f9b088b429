// Lines of a text file and what is on them.
#include "viewer/model/text_document.h"

#include <algorithm>
#include <cstring>

#include "viewer/model/document.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/text_line.h"

namespace hloscope::viewer {
namespace {

bool HasCapital(std::string_view text) {
  return std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}
char LowerLetter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

size_t FindAnyCase(std::string_view text, std::string_view what, size_t from) {
  if (from > text.size()) return std::string_view::npos;
  auto found = std::search(text.begin() + static_cast<ptrdiff_t>(from), text.end(), what.begin(),
                           what.end(), [](char a, char b) { return LowerLetter(a) == b; });
  return found == text.end() && !what.empty() ? std::string_view::npos
                                              : static_cast<size_t>(found - text.begin());
}

}  // namespace

size_t FindInLine(std::string_view line, std::string_view what, size_t from) {
  return HasCapital(what) ? line.find(what, from) : FindAnyCase(line, what, from);
}

Result<std::shared_ptr<const TextDocument>> TextDocument::Make(FileView file, dump::FileKind kind,
                                                               const std::stop_token& stop) {
  std::shared_ptr<TextDocument> document(new TextDocument(std::move(file), kind));
  std::string_view text = document->bytes();
  size_t at = 0;
  while (at < text.size()) {
    document->starts_.push_back(at);
    const void* found = std::memchr(text.data() + at, '\n', text.size() - at);
    size_t end = found == nullptr
                     ? text.size()
                     : static_cast<size_t>(static_cast<const char*>(found) - text.data());
    document->longest_ = std::max(document->longest_, end - at);
    at = end + 1;
    if ((document->starts_.size() & 0xffff) == 0 && stop.stop_requested())
      return EnvironmentError("stopped");
  }
  if (document->starts_.empty()) document->starts_.push_back(0);
  return document;
}

std::string_view TextDocument::Line(int64_t number) const {
  if (number < 0 || number >= lines()) return {};
  auto i = static_cast<size_t>(number);
  size_t begin = starts_[i];
  size_t end = i + 1 < starts_.size() ? starts_[i + 1] - 1 : bytes().size();
  std::string_view line = bytes().substr(begin, end - begin);
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

int64_t TextDocument::LineAt(size_t offset) const {
  return std::ranges::upper_bound(starts_, offset) - starts_.begin() - 1;
}

int64_t TextDocument::FindDefinition(std::string_view name) const {
  if (name.empty()) return -1;
  std::string_view text = bytes();
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    int64_t line = LineAt(at);
    std::string_view here = Line(line);
    if (NameOnLine(here, kind_) == name) return line;
    // "%name (parameters) -> shape {" and "ENTRY %name … {" begin a computation.
    size_t start = here.find_first_not_of("% ");
    std::string_view head = here.starts_with("ENTRY ") ? here.substr(6) : here;
    if (head.starts_with('%')) head.remove_prefix(1);
    if (start != std::string_view::npos && here[0] != ' ' && head.starts_with(name) &&
        head.size() > name.size() && head[name.size()] == ' ' && here.ends_with('{'))
      return line;
  }
  return -1;
}

int64_t TextDocument::FindText(std::string_view what, int64_t from, bool up,
                               const std::stop_token& stop) const {
  if (what.empty() || lines() == 0) return -1;
  bool exact = HasCapital(what);
  std::string_view text = bytes();
  from = std::clamp<int64_t>(from, 0, lines() - 1);
  if (!up) {
    size_t begin = starts_[static_cast<size_t>(from)];
    for (size_t start : {begin, size_t{0}}) {
      size_t found = exact ? text.find(what, start) : FindAnyCase(text, what, start);
      if (found != std::string_view::npos) return LineAt(found);
    }
    return -1;
  }
  for (int64_t step = 0; step < lines(); ++step) {
    int64_t line = (from - step + lines()) % lines();
    if (FindInLine(Line(line), what, 0) != std::string_view::npos) return line;
    if ((step & 0xffff) == 0 && stop.stop_requested()) return -1;
  }
  return -1;
}

const Pending<TextDocument>& TextOfFile(Context& context, int32_t file) {
  return context.cache.Get(
      TextKey{.file = file}, "loading the text",
      [dump = context.document.dump().value, file](TaskControl& control) -> Computed<TextDocument> {
        HLOSCOPE_ASSIGN_OR_RETURN(FileView view, dump->OpenFile(file));
        return TextDocument::Make(std::move(view), dump->files()[static_cast<size_t>(file)].kind,
                                  control.stop());
      });
}

}  // namespace hloscope::viewer
