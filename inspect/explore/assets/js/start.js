// Loads the page's program once the page is painted, so that nothing is in the way of what is seen first. A page that
// is not in sight is not painted.

const start = () => import("./app.js");
if (document.hidden) start();
else requestAnimationFrame(() => setTimeout(start));
