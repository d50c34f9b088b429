// A profile as a Chrome trace, which Perfetto's and Chrome's windows open too. They drop events
// that overlap without lying in one another, so such lanes are written as several threads of one
// name. They read times as doubles, which have no nanoseconds of the time of day: times count from
// the origin, which is named beside.
#include <cmath>
#include <utility>

#include "core/base/append.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "profiler/formats/chrome_event.h"
#include "profiler/formats/export.h"
#include "profiler/formats/output_stream.h"

namespace hloscope::profiler {
namespace {

// Picoseconds as microseconds: "12.000345".
void AppendMicroseconds(std::string& out, int64_t picoseconds) {
  constexpr int64_t kPerMicrosecond = 1'000'000;
  int64_t whole = picoseconds / kPerMicrosecond - (picoseconds % kPerMicrosecond < 0 ? 1 : 0);
  int64_t rest = picoseconds - whole * kPerMicrosecond;
  if (whole < 0 && rest > 0) {  // -1 and 0.75 are -0.25
    ++whole;
    rest = kPerMicrosecond - rest;
    if (whole == 0) out += '-';
  }
  AppendInteger(out, whole);
  if (rest == 0) return;
  std::string digits;
  AppendInteger(digits, rest + kPerMicrosecond);
  while (digits.ends_with('0')) digits.pop_back();
  digits[0] = '.';
  out += digits;
}

class ChromeWriter {
 public:
  ChromeWriter(const WriteRequest& request, OutputStream& file)
      : profile_(request.profile), store_(*request.profile.store), file_(file) {}

  Result<std::vector<Loss>> Write() {
    std::string& out = file_.buffer();
    out += "{\"displayTimeUnit\":\"ns\",";
    if (store_.origin_ns() != 0) {
      out.append("\"").append(kBaseTimeKey).append("\":");
      AppendInteger(out, store_.origin_ns());
      out += ',';
    }
    out += "\"otherData\":{";
    for (size_t i = 0; i < profile_.environment.size(); ++i) {
      const auto& [key, value] = profile_.environment[i];
      out += (i == 0 ? "" : ",") + Json(key) + ':' + Json(value);
    }
    out += "},\"traceEvents\":[\n";
    for (uint32_t g = 0; g < store_.groups().size(); ++g) HLOSCOPE_TRY(WriteGroup(g));
    for (const Counter& counter : store_.counters()) HLOSCOPE_TRY(WriteCounter(counter));
    out += "\n]}\n";
    CountLostParts(
        profile_,
        {ProfilePart::kModules, ProfilePart::kMessages, ProfilePart::kFacts, ProfilePart::kUnits},
        losses_);
    HLOSCOPE_TRY(file_.Finish());
    return losses_.Take();
  }

 private:
  // Threads are numbered from 1 on, in the order they are shown.
  Status WriteGroup(uint32_t g) {
    const Group& group = store_.groups()[g];
    process_ = std::to_string(g + 1);
    std::string name = "{\"name\":" + Json(store_.text(group.name));
    if (group.is_device != store_.text(group.name).starts_with("/device:"))
      name += group.is_device ? ",\"is_device\":\"true\"" : ",\"is_device\":\"false\"";
    WriteMetadata("process_name", "", name + "}");
    WriteMetadata("process_sort_index", "", "{\"sort_index\":" + std::to_string(g) + "}");
    for (LaneId lane : group.lanes) HLOSCOPE_TRY(WriteLane(lane));
    return {};
  }

  void WriteMetadata(std::string_view name, const std::string& thread, const std::string& values) {
    std::string& out = Next();
    out.append("{\"ph\":\"M\",\"pid\":").append(process_);
    if (!thread.empty()) out.append(",\"tid\":").append(thread);
    out.append(",\"name\":\"").append(name).append("\",\"args\":").append(values).append("}");
  }

  Status WriteLane(LaneId id) {
    const Lane& lane = store_.lanes()[id.index];
    const Stacks stacks(store_, lane);
    const uint32_t first = next_thread_;
    next_thread_ += std::max(stacks.count(), 1u);
    const bool is_device = store_.groups()[lane.group].is_device;
    std::string name = "{\"name\":" + Json(store_.text(lane.name));
    if (lane.role != RoleOfLine(store_.text(lane.name), is_device))
      name.append(",\"role\":\"").append(ToString(lane.role)).append("\"");
    for (uint32_t thread = first; thread < next_thread_; ++thread) {
      const std::string number = std::to_string(thread);
      const std::string part = thread == first ? "" : ",\"part_of\":" + std::to_string(first);
      WriteMetadata("thread_name", number, name + part + "}");
      WriteMetadata("thread_sort_index", number, "{\"sort_index\":" + number + "}");
    }
    for (const auto& [event, stack] : stacks.events()) {
      WriteEvent(event, first + stack);
      HLOSCOPE_TRY(file_.Drain());
    }
    return {};
  }

  void WriteEvent(EventId e, uint32_t thread) {
    std::string& out = Next();
    out.append("{\"ph\":\"X\",\"pid\":").append(process_).append(",\"tid\":");
    AppendInteger(out, thread);
    out += ",\"ts\":";
    AppendMicroseconds(out, store_.start(e));
    out += ",\"dur\":";
    AppendMicroseconds(out, store_.duration(e));
    out.append(",\"name\":").append(NameJson(store_.name(e)));
    const std::vector<Argument> arguments = ArgumentsToWrite(store_, e);
    if (!arguments.empty()) {
      out += ",\"args\":{";
      for (size_t i = 0; i < arguments.size(); ++i) {
        if (i > 0) out += ',';
        out.append(Json(arguments[i].name)).append(":");
        AppendValue(arguments[i], out);
      }
      out += '}';
    }
    out += '}';
  }

  void AppendValue(const Argument& argument, std::string& out) {
    if (const auto* text = std::get_if<std::string>(&argument.value)) {
      out += Json(*text);
    } else if (const auto* number = std::get_if<double>(&argument.value)) {
      if (!std::isfinite(*number)) {
        losses_.Count("non-finite arguments, written as strings", [&] { return argument.name; });
      }
      JsonWriter(out).Value(*number);
    } else if (const auto* integer = std::get_if<int64_t>(&argument.value)) {
      AppendInteger(out, *integer);
    } else {
      AppendInteger(out, std::get<uint64_t>(argument.value));
    }
  }

  Status WriteCounter(const Counter& counter) {
    for (uint32_t i = 0; i < counter.sample_count; ++i) {
      std::string& out = Next();
      out.append("{\"ph\":\"C\",\"pid\":").append(std::to_string(counter.group + 1));
      out += ",\"ts\":";
      AppendMicroseconds(out, store_.times(counter)[i]);
      out.append(",\"name\":").append(NameJson(counter.name)).append(",\"args\":{\"value\":");
      const double value = store_.values(counter)[i];
      if (!std::isfinite(value)) {
        losses_.Count("non-finite counter values, written as strings",
                      [&] { return std::string(store_.text(counter.name)); });
      }
      JsonWriter(out).Value(value);
      out += "}}";
      HLOSCOPE_TRY(file_.Drain());
    }
    return {};
  }

  std::string& Next() {
    std::string& out = file_.buffer();
    if (std::exchange(has_event_, true)) out += ",\n";
    return out;
  }

  std::string Json(std::string_view text) {
    if (!IsUtf8(text)) {
      losses_.Count("strings that are not UTF-8, their bytes written as \\xNN",
                    [&] { return RepairUtf8(text.substr(0, 80)); });
    }
    return JsonString(text);
  }
  // Names are the same ones over and over.
  const std::string& NameJson(NameId name) {
    if (names_.size() < store_.name_count()) names_.resize(store_.name_count());
    std::string& json = names_[name.index];
    if (json.empty()) json = Json(store_.text(name));
    return json;
  }

  const Profile& profile_;
  const EventStore& store_;
  OutputStream& file_;
  Losses losses_;
  std::string process_;
  std::vector<std::string> names_;
  uint32_t next_thread_ = 1;
  bool has_event_ = false;
};

}  // namespace

Result<std::vector<Loss>> WriteChromeTrace(const WriteRequest& request) {
  HLOSCOPE_ASSIGN_OR_RETURN(OutputStream file, OutputStream::Create(request.path));
  return ChromeWriter(request, file).Write();
}

}  // namespace hloscope::profiler
