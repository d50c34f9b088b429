// A profile as a table: a line for each event and each sample of a counter.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/append.h"
#include "core/base/escape.h"
#include "core/base/json.h"
#include "profiler/attribution.h"
#include "profiler/formats/export.h"
#include "profiler/formats/output_stream.h"

namespace hloscope::profiler {
namespace {

// Picoseconds from `base_ns` as nanoseconds: "12.345".
void AppendNanoseconds(std::string& out, int64_t base_ns, int64_t picoseconds) {
  const int64_t rest = (picoseconds % 1000 + 1000) % 1000;
  // In 128 bits: a trace may say any base.
  const __int128 whole =
      static_cast<__int128>(base_ns) + (static_cast<__int128>(picoseconds) - rest) / 1000;
  whole == static_cast<int64_t>(whole) ? AppendInteger(out, static_cast<int64_t>(whole))
                                       : void(out += fmt::format("{}", whole));
  if (rest == 0) return;
  std::string digits = std::to_string(rest + 1000);
  digits[0] = '.';
  out += digits;
}

class CsvWriter {
 public:
  CsvWriter(const WriteRequest& request, OutputStream& file)
      : request_(request), store_(*request.profile.store), file_(file) {}

  Result<std::vector<Loss>> Write() {
    file_.buffer() +=
        "kind,group,lane,name,start_ns,duration_ns,value,module,instruction,program,reason\n";
    for (const Group& group : store_.groups()) {
      for (LaneId lane : group.lanes) HLOSCOPE_TRY(WriteLane(group, store_.lanes()[lane.index]));
    }
    for (const Counter& counter : store_.counters()) HLOSCOPE_TRY(WriteCounter(counter));
    CountLostParts(request_.profile,
                   {ProfilePart::kModules, ProfilePart::kEnvironment, ProfilePart::kMessages,
                    ProfilePart::kFacts, ProfilePart::kUnits},
                   losses_);
    HLOSCOPE_TRY(file_.Finish());
    return losses_.Take();
  }

 private:
  Status WriteLane(const Group& group, const Lane& lane) {
    for (uint32_t i = 0; i < lane.event_count; ++i) {
      const EventId e(lane.first_event + i);
      std::string& out = file_.buffer();
      Begin("event", group, store_.text(lane.name), store_.name(e), store_.start(e));
      out += ',';
      AppendNanoseconds(out, 0, store_.duration(e));
      out += ",,";
      AppendInstruction(e, out);
      out += '\n';
      if (!store_.Arguments(e).empty()) {
        losses_.Count("event arguments", [&] { return std::string(Text(store_.name(e))); });
      }
      HLOSCOPE_TRY(file_.Drain());
    }
    return {};
  }

  Status WriteCounter(const Counter& counter) {
    for (uint32_t i = 0; i < counter.sample_count; ++i) {
      std::string& out = file_.buffer();
      Begin("counter", store_.groups()[counter.group], {}, counter.name, store_.times(counter)[i]);
      out += ",,";
      JsonWriter(out).Value(store_.values(counter)[i]);
      out += ",,,,\n";
      HLOSCOPE_TRY(file_.Drain());
    }
    return {};
  }

  void Begin(std::string_view kind, const Group& group, std::string_view lane, NameId name,
             int64_t time) {
    std::string& out = file_.buffer();
    out.append(kind).append(",");
    AppendCsvCell(out, store_.text(group.name));
    out += ',';
    AppendCsvCell(out, lane);
    out += ',';
    AppendCsvCell(out, store_.text(name));
    out += ',';
    AppendNanoseconds(out, store_.origin_ns(), time);
  }

  // What the event is attributed to, else what it says itself.
  void AppendInstruction(EventId e, std::string& out) {
    const Attribution* attribution = request_.attribution;
    const Target target = attribution == nullptr ? Target() : attribution->TargetOf(e);
    if (target.valid()) {
      const AttributedModule& module = attribution->modules()[target.module];
      AppendCsvCell(out, module.name);
      out += ',';
      AppendCsvCell(out, module.module->name(target.instruction));
      out += ',';
      if (module.program >= 0) AppendInteger(out, module.program);
      out.append(",").append(ToString(target.reason));
      return;
    }
    const OperationId id = store_.operation(e);
    if (!id.valid()) {
      out += ",,,";
      return;
    }
    const Operation& operation = store_.operations()[id.index];
    AppendCsvCell(out, store_.text(operation.module));
    out += ',';
    AppendCsvCell(out, store_.text(operation.name));
    out += ',';
    if (operation.program >= 0) AppendInteger(out, operation.program);
    out += ',';
  }

  std::string_view Text(NameId name) const { return store_.text(name).substr(0, 80); }

  const WriteRequest& request_;
  const EventStore& store_;
  OutputStream& file_;
  Losses losses_;
};

}  // namespace

Result<std::vector<Loss>> WriteCsv(const WriteRequest& request) {
  HLOSCOPE_ASSIGN_OR_RETURN(OutputStream file, OutputStream::Create(request.path));
  return CsvWriter(request, file).Write();
}

}  // namespace hloscope::profiler
