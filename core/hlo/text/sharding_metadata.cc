// Metadata of shardings: read entry by entry and kept in the order XLA prints.
#include <algorithm>
#include <string_view>

#include "core/hlo/text/sharding_text.h"
#include "core/hlo/text/text_parts.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

constexpr std::string_view kFieldOrder[] = {
    "op_type",           "op_name",         "source_file",       "source_line",
    "source_end_line",   "source_column",   "source_end_column", "profile_type",
    "deduplicated_name", "scheduling_name", "stack_frame_id",    "metadata_payload"};

struct Entry {
  std::string_view key;
  std::string value;  // as XLA prints it; empty if it is left out

  ptrdiff_t rank() const { return std::ranges::find(kFieldOrder, key) - std::begin(kFieldOrder); }
};

Parsed<std::string> ReadValue(TextCursor& cursor) {
  std::string value;
  cursor.SkipSpace();
  if (char c = cursor.Peek(); c == '"' || c == '\'') {
    std::optional<std::string> text = cursor.ReadString();
    if (!text) return std::unexpected(cursor.Expected("a string", "metadata"));
    if (text->empty()) return value;
    value = '"';
    AppendEscaped(value, *text);
    value += '"';
    return value;
  }
  if (cursor.Peek() == '{') {
    std::optional<std::string_view> group = cursor.ReadGroup();
    if (!group) return std::unexpected(cursor.Expected("a closed group", "metadata"));
    return std::string(*group);
  }
  if (std::optional<int64_t> number = cursor.ReadInt()) {
    return *number == 0 ? value : std::to_string(*number);
  }
  std::string_view word = cursor.ReadWord();
  if (word.empty()) return std::unexpected(cursor.Expected("a value", "metadata"));
  return std::string(word);
}

// The entries after the opening brace up to the closing one.
Parsed<ShardingMetadata> ReadEntries(TextCursor& cursor) {
  std::vector<Entry> entries;
  while (!cursor.Consume('}')) {
    if (!entries.empty()) cursor.Consume(',');
    const uint64_t start = (cursor.SkipSpace(), cursor.offset());
    std::string_view key = cursor.ReadIdentifier();
    if (key.empty() || !cursor.Consume('=')) {
      return std::unexpected(cursor.Expected("an entry such as op_name=\"a\" or }", "metadata"));
    }
    if (std::ranges::find(entries, key, &Entry::key) != entries.end()) {
      return std::unexpected(
          TextCursor::Fail("metadata", "entry " + std::string(key) + " is given twice", start));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(std::string value, ReadValue(cursor));
    entries.push_back({key, std::move(value)});
    if (entries.size() > 2 * std::size(kFieldOrder)) {
      return std::unexpected(TextCursor::Fail("metadata", "too many entries", start));
    }
  }
  std::ranges::stable_sort(entries, {}, &Entry::rank);
  ShardingMetadata metadata;
  for (const Entry& entry : entries) {
    if (entry.value.empty()) continue;
    if (!metadata.text.empty()) metadata.text += ' ';
    metadata.text.append(entry.key).append("=").append(entry.value);
  }
  return metadata;
}

}  // namespace

Parsed<void> ReadShardingMetadata(TextCursor& cursor, std::vector<ShardingMetadata>& metadata) {
  HLOSCOPE_TRY(Require(cursor, '{', "{ of the metadata", "metadata"));
  if (cursor.Peek() != '{') {
    HLOSCOPE_ASSIGN_OR_RETURN(ShardingMetadata one, ReadEntries(cursor));
    metadata.push_back(std::move(one));
    return {};
  }
  do {
    HLOSCOPE_TRY(Require(cursor, '{', "{ of the metadata", "metadata"));
    HLOSCOPE_ASSIGN_OR_RETURN(ShardingMetadata one, ReadEntries(cursor));
    metadata.push_back(std::move(one));
  } while (cursor.Consume(','));
  return Require(cursor, '}', "} after the metadata", "metadata");
}

}  // namespace hloscope::hlo
