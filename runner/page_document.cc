#include "runner/page_document.h"

#include <google/protobuf/util/json_util.h>

#include "engine/base/error.h"
#include "engine/exec/job_report.h"
#include "runner/page_texts.h"

namespace flowrun::runner {

namespace {

void put(std::string& text, std::string_view mark, std::string_view what) {
  const size_t at = text.find(mark);
  FLOWRUN_CHECK(at != std::string::npos);
  text.replace(at, mark.size(), what);
}

// Within a script element, < may begin what ends it ("</script>", "<!--"). In JSON it stands only in texts, where it
// may be written as a number. So may the two ends of lines that JSON allows in a text, and older scripts don't.
std::string for_script_element(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (rest[0] == '<') {
      out += "\\u003c";
    } else if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      out += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      out += rest[0];
    }
  }
  return out;
}

std::string page_with(std::string_view json) {
  std::string out = page_html();
  // The report comes first: nothing that it brings is taken for a mark, since the others stand in front of it or are
  // replaced by what has none.
  const size_t report = out.find("@REPORT@");
  FLOWRUN_CHECK(report != std::string::npos);
  std::string head = out.substr(0, report);
  std::string tail = out.substr(report + std::string_view("@REPORT@").size());
  put(head, "@PAGE_CSS@", page_css());
  put(tail, "@GRAPH_JS@", std::string(page_layout()) + page_graph());
  put(tail, "@PAGE_JS@", page_script());
  return head + for_script_element(json) + tail;
}

}  // namespace

std::string page_of_report(std::string_view json) { return page_with(json); }

std::string live_page_document() { return page_with("null"); }

std::optional<exec::RunReport> report_in(const std::string& json) {
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  exec::RunReport out;
  if (!google::protobuf::util::JsonStringToMessage(json, &out, options).ok()) return std::nullopt;
  return out;
}

exec::RunReport parse_report(const std::string& json, const std::string& name) {
  const std::optional<exec::RunReport> read = report_in(json);
  if (!read)
    throw error(error_kind::bad_data, name + " is no run report: it is not the JSON of one",
                "give the file that flowrun run --report FILE has written");
  const exec::RunReport& out = *read;
  if (out.format() > exec::report_format)
    throw error(error_kind::bad_data,
                fmt::format("{} is a run report of format {}, and this program knows format {}", name, out.format(),
                            exec::report_format),
                out.version().empty() ? "use a newer flowrun"
                                      : "use flowrun " + out.version() + ", which has written it, or a newer one");
  if (out.format() == 0)
    throw error(error_kind::bad_data,
                out.status().empty() ? name + " is no run report: it has no format"
                                     : name + " is a run report of an older flowrun, which says too little to be drawn",
                "run the job again with --report FILE");
  return out;
}

}  // namespace flowrun::runner
