from django.http import HttpRequest, HttpResponse


def import_logs(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse("soon")
