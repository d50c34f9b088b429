// A whole profile as .hloprof, which holds everything.
#include <utility>

#include "profiler/formats/hloprof_writer.h"
#include "profiler/profile.h"

namespace hloscope::profiler {
namespace {

class HloprofExporter {
 public:
  HloprofExporter(const Profile& profile, HloprofWriter& writer)
      : profile_(profile), store_(*profile.store), writer_(writer) {}

  Status Write() {
    HLOSCOPE_TRY(writer_.SetOrigin(store_.origin_ns()));
    HLOSCOPE_TRY(WriteFacts());
    for (const EmbeddedModule& module : profile_.modules) HLOSCOPE_TRY(writer_.AddModule(module));
    Define();
    HLOSCOPE_TRY(WriteEvents());
    for (uint32_t c = 0; c < store_.counters().size(); ++c) {
      const Counter& counter = store_.counters()[c];
      for (uint32_t i = 0; i < counter.sample_count; ++i) {
        HLOSCOPE_TRY(
            writer_.AddSample(CounterId(c), store_.times(counter)[i], store_.values(counter)[i]));
      }
    }
    return writer_.Finish();
  }

 private:
  Status WriteFacts() {
    for (const auto& [key, value] : profile_.environment)
      HLOSCOPE_TRY(writer_.AddEnvironment(key, value));
    for (const std::string& host : profile_.hosts) HLOSCOPE_TRY(writer_.AddHost(host));
    for (const std::string& error : profile_.errors) HLOSCOPE_TRY(writer_.AddError(error));
    for (const std::string& text : profile_.warnings) HLOSCOPE_TRY(writer_.AddWarning(text));
    for (const Loss& loss : profile_.losses) {
      HLOSCOPE_TRY(writer_.AddWarning("lost before: " + std::to_string(loss.count) + " " +
                                      loss.what + ", first: " + loss.first));
    }
    return {};
  }

  // Ids of the store and of the file are the same but for those of names and lanes, which are
  // written in the order they are shown.
  void Define() {
    lanes_.resize(store_.lanes().size());
    for (const Group& group : store_.groups()) {
      const uint32_t id = writer_.AddGroup(store_.text(group.name), group.is_device, group.facts);
      for (LaneId lane : group.lanes) {
        const Lane& shown = store_.lanes()[lane.index];
        lanes_[lane.index] = writer_.AddLane(id, store_.text(shown.name), shown.role);
      }
    }
    for (size_t n = 0; n < store_.name_count(); ++n)
      names_.push_back(writer_.Name(store_.text(NameId(n))));
    for (const Operation& o : store_.operations()) {
      writer_.AddOperation(
          {.module = NameIn(o.module), .name = NameIn(o.name), .program = o.program});
    }
    for (const Counter& counter : store_.counters())
      writer_.AddCounter(counter.group, store_.text(counter.name), store_.text(counter.unit));
  }

  NameId NameIn(NameId name) const { return name.valid() ? names_[name.index] : NameId(); }

  Status WriteEvents() {
    for (const Row& row : store_.rows()) {
      for (uint32_t i = 0; i < row.event_count; ++i) {
        const EventId e(row.first_event + i);
        HLOSCOPE_TRY(writer_.AddSlice({lanes_[row.lane.index], store_.start(e), store_.duration(e),
                                       NameIn(store_.name(e)), store_.operation(e)},
                                      store_.Arguments(e)));
      }
    }
    return {};
  }

  const Profile& profile_;
  const EventStore& store_;
  HloprofWriter& writer_;
  std::vector<LaneId> lanes_;
  std::vector<NameId> names_;
};

}  // namespace

Result<std::vector<Loss>> WriteHloprof(const WriteRequest& request) {
  if (request.path.ends_with(".gz")) {
    return InputError(request.path + ": a .hloprof is packed already",
                      "leave out .gz: packed as a whole it could not be read when cut off");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto writer, HloprofWriter::Create(request.path));
  HLOSCOPE_TRY(HloprofExporter(request.profile, *writer).Write());
  return std::vector<Loss>();
}

}  // namespace hloscope::profiler
