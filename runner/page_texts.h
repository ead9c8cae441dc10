// The files of runner/page, as they are: the page on which a job is seen (page_document.h).
#pragma once

namespace flowrun::runner {

const char* page_html();
const char* page_css();
const char* page_layout();  // JavaScript: where the nodes of a graph lie …
const char* page_graph();   // … how they are drawn …
const char* page_script();  // … and all the rest

}  // namespace flowrun::runner
