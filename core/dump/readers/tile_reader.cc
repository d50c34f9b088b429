// Triton IR of XLA since 2025: the arguments of its entry function and their tiles.
#include "core/dump/readers/tile_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace hloscope::dump {
namespace {

constexpr size_t kMaxArguments = 4096, kMaxDimensions = 64, kMaxAccesses = 65536;

bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// The part of `text` before `end`, which is taken off with it; nullopt where it does not come.
std::optional<std::string_view> TakeUntil(std::string_view& text, std::string_view end) {
  const size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return part;
}

std::optional<int64_t> TakeNumber(std::string_view& text) {
  int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  return number;
}

// "1, 64, 128"
std::optional<std::vector<int64_t>> Numbers(std::string_view text) {
  std::vector<int64_t> numbers;
  while (!text.empty()) {
    const auto number = TakeNumber(text);
    if (!number || numbers.size() == kMaxDimensions) return std::nullopt;
    numbers.push_back(*number);
    if (!Take(text, ", ") && !text.empty()) return std::nullopt;
  }
  return numbers;
}

int32_t ElementBytes(std::string_view type) {
  struct Row {
    std::string_view type;
    int32_t bytes;
  };
  static constexpr Row kTypes[] = {{"i8", 1},   {"i16", 2}, {"i32", 4}, {"i64", 8},
                                   {"bf16", 2}, {"f16", 2}, {"f32", 4}, {"f64", 8}};
  const auto* row = std::ranges::find(kTypes, type, &Row::type);
  if (row != std::end(kTypes)) return row->bytes;
  return type.starts_with("f8E") ? 1 : 0;
}

// "256x4x64xbf16" or "256x64xi8, #xtile.layout<[0, 1]>": what stands in memref< >.
std::optional<TiledArray> ParseArray(std::string_view text) {
  TiledArray array;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    const auto size = TakeNumber(text);
    if (!size || !Take(text, "x") || array.sizes.size() == kMaxDimensions) return std::nullopt;
    array.sizes.push_back(*size);
  }
  const std::string_view type = text.substr(0, text.find(','));
  array.element_bytes = ElementBytes(type);
  text.remove_prefix(type.size());
  const size_t rank = array.sizes.size();
  for (size_t i = rank; i > 0; --i) array.minor_to_major.push_back(static_cast<int64_t>(i - 1));
  if (text.empty()) return array;
  const auto order = Take(text, ", #xtile.layout<[") ? TakeUntil(text, "]>") : std::nullopt;
  const auto layout = order ? Numbers(*order) : std::nullopt;
  if (!layout || !text.empty()) return std::nullopt;
  std::vector<int64_t> sorted = *layout, wanted = array.minor_to_major;
  std::ranges::sort(sorted);
  std::ranges::sort(wanted);
  if (sorted != wanted) return std::nullopt;
  array.minor_to_major = *layout;
  return array;
}

class TileReader {
 public:
  TileReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<TiledFunction> Read() {
    while (!text_.empty()) {
      ++line_;
      const size_t end = std::min(text_.find('\n'), text_.size());
      const std::string_view line = text_.substr(0, end);
      text_.remove_prefix(std::min(end + 1, text_.size()));
      HLOSCOPE_TRY(ReadLine(line));
    }
    if (function_.name.empty()) return Fail("no xtile.entry_func");
    return std::move(function_);
  }

 private:
  std::unexpected<Error> Fail(std::string what) const {
    return std::unexpected(Error{ErrorClass::kInput,
                                 std::move(what),
                                 {file_, line_, 0},
                                 "expected Triton IR as XLA has written it since the end of 2025"});
  }

  Status ReadLine(std::string_view line) {
    if (const size_t at = line.find("xtile.entry_func @"); at != std::string_view::npos) {
      if (!function_.name.empty()) return Fail("a second xtile.entry_func");
      return ReadArguments(line.substr(at + std::string_view("xtile.entry_func @").size()));
    }
    if (const size_t at = line.find(" = xtile.extract "); at != std::string_view::npos) {
      return ReadAccess(line.substr(at + std::string_view(" = xtile.extract ").size()));
    }
    const size_t at = line.find("xtile.insert ");
    if (at == std::string_view::npos) return {};
    line.remove_prefix(at);
    if (!TakeUntil(line, " into ")) return Fail("an xtile.insert without its array");
    return ReadAccess(line);
  }

  // NAME(%arg0: memref<…>, …, %argN: index)
  Status ReadArguments(std::string_view line) {
    const auto name = TakeUntil(line, "(");
    if (!name || name->empty()) return Fail("an entry function without its name");
    function_.name = *name;
    while (Take(line, fmt::format("%arg{}: memref<", function_.arguments.size()))) {
      const size_t end = line.find('>');
      // Of memref<…, #xtile.layout<…>> the second.
      const bool has_layout = line.substr(0, end).find('#') != std::string_view::npos;
      auto text = TakeUntil(line, has_layout ? ">>" : ">");
      const auto array = !text        ? std::nullopt
                         : has_layout ? ParseArray({text->data(), text->size() + 1})
                                      : ParseArray(*text);
      if (!array || function_.arguments.size() == kMaxArguments) {
        return Fail(fmt::format("argument {} is not a memref", function_.arguments.size()));
      }
      function_.arguments.push_back(*array);
      if (!Take(line, ", ")) break;
    }
    return {};
  }

  // %arg0[offsets] [sizes] [strides] …; of other arrays than arguments nothing is noted.
  Status ReadAccess(std::string_view line) {
    if (!Take(line, "%arg")) return {};
    TileAccess access;
    const auto argument = TakeNumber(line);
    const auto offsets = Take(line, "[") ? TakeUntil(line, "] [") : std::nullopt;
    const auto sizes = offsets ? TakeUntil(line, "] [") : std::nullopt;
    const auto strides = sizes ? TakeUntil(line, "]") : std::nullopt;
    const auto tile = sizes ? Numbers(*sizes) : std::nullopt;
    const auto steps = strides ? Numbers(*strides) : std::nullopt;
    if (!argument || *argument < 0 || !tile || !steps || tile->size() != steps->size() ||
        function_.accesses.size() == kMaxAccesses) {
      return Fail("a tile that is not [offsets] [sizes] [strides]");
    }
    const auto index = static_cast<size_t>(*argument);
    if (index >= function_.arguments.size() ||
        function_.arguments[index].sizes.size() != tile->size()) {
      return Fail("a tile of other dimensions than its array");
    }
    function_.accesses.push_back({index, *tile, *steps});
    return {};
  }

  std::string_view text_;
  const std::string& file_;
  TiledFunction function_;
  uint32_t line_ = 0;
};

}  // namespace

Result<TiledFunction> ReadTiles(std::string_view text, const std::string& file) {
  return TileReader(text, file).Read();
}

}  // namespace hloscope::dump
