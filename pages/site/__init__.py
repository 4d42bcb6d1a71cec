"""The site: static pages, made of committed data by `make site`, without Docker, Java or a script in any page.

    render.py     templates (pages/templates/site) with what every page has: navigation, style, links up
    links.py      KIPs, JIRAs, settings and scenarios in a page's text become links
    words.py      the Atlas in sentences
    atlas.py      its pages
    scenarios.py  a page for each scenario, in one order
    articles.py   pages from Markdown (docs/)
    chapters.py   Learn replication
    build.py      all pages, and writing them

Results on a page come from results/, never from a sentence of a template.
"""
