#include "plugin/plugin_set.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "engine/base/error.h"
#include "plugin/aggregate.h"
#include "plugin/crash_line.h"
#include "plugin/file_trust.h"
#include "plugin/function.h"
#include "plugin/interfaces.h"
#include "plugin/note.h"
#include "plugin/operator.h"
#include "plugin/plugin_waker.h"
#include "plugin/problem.h"

namespace flowrun::plugins {

namespace {

std::string who(const candidate& file) { return fmt::format("plugin {} {}", file.name, file.version); }

struct registration {
  const candidate& file;
  loaded_plugin& to;
  std::exception_ptr raised;
};

// One that is wrong is told when the plugin has returned.
template <class Add>
void add(void* self, Add one) {
  auto& r = *static_cast<registration*>(self);
  if (r.raised) return;
  try {
    one(r);
  } catch (...) {
    r.raised = std::current_exception();
  }
}

void add_function(void* self, const fr_function* table) {
  add(self, [&](registration& r) { r.to.functions.push_back(make_function(*table, r.file.name, who(r.file))); });
}

void add_aggregate(void* self, const fr_aggregate* table) {
  add(self, [&](registration& r) { r.to.aggregates.push_back(make_aggregate(*table, r.file.name, who(r.file))); });
}

void add_operator(void* self, const fr_operator* table) {
  add(self, [&](registration& r) {
    r.to.operators.push_back(std::make_unique<const exec::operator_definition>(
        make_operator(*table, r.file.name, who(r.file), r.file.abi_minor)));
  });
}

[[noreturn]] void refuse_twice(const candidate& file, const std::string& what) {
  throw error(error_kind::internal, fmt::format("{} declares the {} twice", who(file), what),
              "tell the author of the plugin");
}

// The one symbol of the file.
fr_plugin_entry entry_of(const candidate& file) {
  // At once and all: what is missing is said now. Its own names stay its own. It is never unloaded: threads, static
  // objects and tables of it may be in use until the end.
  void* const handle = ::dlopen(file.path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const reason = ::dlerror();
    throw error(
        error_kind::bad_spec,
        fmt::format("{} can't be loaded: {}", who(file), reason == nullptr ? "no reason given" : reason),
        fmt::format("it was built with {}; libraries that it needs must be found when it is loaded", file.compiler));
  }
  void* const found = ::dlsym(handle, FR_PLUGIN_ENTRY);
  if (found == nullptr)
    throw error(error_kind::bad_spec, fmt::format("{} has no function {}", file.path, FR_PLUGIN_ENTRY),
                "a plugin exports it; the macro FLOWRUN_PLUGIN of flowrun/plugin.hpp writes it");
  return reinterpret_cast<fr_plugin_entry>(found);
}

// The bytes of a file, of which only what is looked at is read: plugins may be large.
class mapped_file {
 public:
  explicit mapped_file(const std::string& path) {
    // A pipe would wait for a writer.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
      problem_ = fmt::format("it can't be read: {}", errno_text(errno));
      return;
    }
    struct stat found;
    if (::fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) {
      problem_ = "it is no file";
    } else if (found.st_size > 0) {
      size_ = static_cast<size_t>(found.st_size);
      data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (data_ == MAP_FAILED) problem_ = fmt::format("it can't be read: {}", errno_text(errno));
    }
    ::close(descriptor);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file() {
    if (size_ > 0 && data_ != MAP_FAILED) ::munmap(data_, size_);
  }
  const std::string& problem() const { return problem_; }  // empty: there is none
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  size_t size_ = 0;
  std::string problem_;
};

}  // namespace

candidate look_at(const std::string& path) {
  candidate out;
  std::error_code problem;
  const std::filesystem::path real = std::filesystem::canonical(path, problem);
  out.path = problem ? path : real.string();
  if (problem) {
    out.refusal = problem.message();
    return out;
  }
  // Only then is it read: nobody else changes it meanwhile. The loader would replace $LIB and $ORIGIN.
  out.refusal = out.path.find('$') != std::string::npos ? "its path has a $, which the loader would replace"
                                                        : distrust_of(out.path);
  if (!out.refusal.empty()) return out;
  const mapped_file file(out.path);
  if (!file.problem().empty()) {
    out.refusal = file.problem();
    return out;
  }
  const std::optional<fr_note> note = read_note(file.bytes(), out.refusal);
  if (!note) return out;
  out.name = name_of(*note);
  out.version = version_of(*note);
  out.compiler = compiler_of(*note);
  out.abi = fmt::format("{}.{}", note->abi_major, note->min_abi_minor);
  out.abi_minor = note->min_abi_minor;
  out.refusal = refusal_of(*note);
  return out;
}

std::vector<candidate> look_into(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code problem;
  for (std::filesystem::directory_iterator at(directory, problem), end; !problem && at != end; at.increment(problem))
    if (at->path().extension() == ".so") paths.push_back(at->path().string());
  if (problem)
    throw error(error_kind::missing_input,
                fmt::format("the directory {} can't be read: {}", directory, problem.message()),
                "plugins are searched in it");
  std::sort(paths.begin(), paths.end());
  std::vector<candidate> out;
  for (const std::string& path : paths) out.push_back(look_at(path));
  return out;
}

plugin_set::plugin_set(const std::string& version, std::function<bool(const std::string&)> is_built_in)
    : version_(version), is_built_in_(std::move(is_built_in)), host_{} {
  host_.size = sizeof host_;
  host_.abi_minor = FR_ABI_MINOR;
  host_.version = {version_.size(), version_.data()};
  host_.interface = interface_by_name;
  host_.wake = [](fr_waker* waker) { waker->wake(); };
  host_.retain_waker = [](fr_waker* waker) { waker->retain(); };
  host_.release_waker = [](fr_waker* waker) { waker->release(); };
  host_.fail = note_failure;
}

int plugin_set::enter(const candidate& file, const fr_registrar& registrar) const {
  name_plugins_in_crashes();
  const std::string name = who(file);
  const inside plugin(name);  // its static objects are made while it is loaded
  const auto entry = entry_of(file);
  name_plugins_in_crashes();
  return entry(&host_, &registrar);
}

void plugin_set::check_operators(const loaded_plugin& plugin) const {
  std::set<std::string> names;
  for (const auto& op : plugin.operators) {
    const std::string& name = op->declaration.name;
    if (!names.insert(name).second) refuse_twice(plugin.file, "operator " + name);
    if (is_built_in_(name))
      throw error(error_kind::bad_spec,
                  fmt::format("{} ({}) has an operator {}, which is one of flowrun's own", who(plugin.file),
                              plugin.file.path, name),
                  "the plugin needs another name");
  }
}

const loaded_plugin& plugin_set::load(const candidate& file) {
  for (const auto& plugin : plugins_) {
    if (plugin->file.path == file.path) return *plugin;
    if (plugin->file.name == file.name)
      throw error(error_kind::bad_spec,
                  fmt::format("two plugins have the name '{}': {} and {}", file.name, plugin->file.path, file.path),
                  "give one of them");
  }
  if (!file.refusal.empty())
    throw error(error_kind::bad_spec, fmt::format("{} can't be loaded: {}", file.path, file.refusal),
                "flowrun plugins lists what is found, and what speaks against it");
  auto made = std::make_unique<loaded_plugin>();
  made->file = file;
  fr_problem problem;
  registration to{file, *made, nullptr};
  fr_registrar registrar{};
  registrar.size = sizeof registrar;
  registrar.self = &to;
  registrar.add_function = add_function;
  registrar.add_operator = add_operator;
  registrar.add_aggregate = add_aggregate;
  registrar.problem = &problem;
  const int entered = enter(file, registrar);
  if (to.raised) std::rethrow_exception(to.raised);
  if (entered != FR_OK) raise(problem, who(file));
  check_operators(*made);
  auto functions = functions_ == nullptr ? std::make_shared<expr::outside_functions>()
                                         : std::make_shared<expr::outside_functions>(*functions_);
  for (const auto& function : made->functions)
    if (!functions->add(*function)) refuse_twice(file, "function " + function->help().name);
  for (const auto& aggregate : made->aggregates)
    if (!functions->add(*aggregate)) refuse_twice(file, "function or aggregate " + aggregate->help().name);
  functions_ = std::move(functions);
  plugins_.push_back(std::move(made));
  return *plugins_.back();
}

}  // namespace flowrun::plugins
